// Package logdef writes records by the C library. Records are in the file when a call returns:
// what kills the process takes none of them.
//
//	logdef.Open("app.log")
//	log.SetFlags(0)
//	log.SetOutput(logdef.Writer(logdef.Info))
//	logdef.Write(logdef.Warn, "disk is full", logdef.F("disk", "sda"), logdef.F("free", 0))
package logdef

/*
#cgo LDFLAGS: -llogdef
#include <errno.h>
#include <stdlib.h>
#include "logdef.h"

static void set_int(logdef_field *field, int64_t value) { field->value.i = value; }
static void set_uint(logdef_field *field, uint64_t value) { field->value.u = value; }
static void set_double(logdef_field *field, double value) { field->value.d = value; }
static void set_text(logdef_field *field, const char *text) { field->value.text = text; }
*/
import "C"

import (
	"fmt"
	"io"
	"runtime"
	"unsafe"
)

// Levels, as in logdef.h.
const (
	Trace = 0x10
	Debug = 0x20
	Info  = 0x30
	Warn  = 0x40
	Error = 0x50
	Fatal = 0x60
)

// Field is a named value of a record.
type Field struct {
	Name  string
	Value any
}

// F makes a field. Integers, floats, bools, strings and []byte keep their types; all else is text.
func F(name string, value any) Field { return Field{name, value} }

// Open opens the log.
func Open(path string) error {
	text := C.CString(path)
	defer C.free(unsafe.Pointer(text))
	if status, err := C.logdef_open(text); status != 0 {
		return err
	}
	return nil
}

// Close ends the log.
func Close() { C.logdef_close() }

// Write writes a record that names its caller's place.
func Write(level int, text string, fields ...Field) { write(level, text, 2, fields) }

func write(level int, text string, skip int, fields []Field) {
	var memory []unsafe.Pointer
	defer func() {
		for _, piece := range memory {
			C.free(piece)
		}
	}()
	copied := func(text string) *C.char {
		piece := C.CString(text)
		memory = append(memory, unsafe.Pointer(piece))
		return piece
	}
	var file, function *C.char
	var line int
	if pc, path, at, ok := runtime.Caller(skip); ok {
		file, line = copied(path), at
		if named := runtime.FuncForPC(pc); named != nil {
			function = copied(named.Name())
		}
	}
	var first *C.logdef_field
	if len(fields) > 0 {
		piece := C.calloc(C.size_t(len(fields)), C.sizeof_logdef_field)
		memory = append(memory, piece)
		first = (*C.logdef_field)(piece)
		array := unsafe.Slice(first, len(fields))
		for i, field := range fields {
			array[i].name = copied(field.Name)
			set(&array[i], field.Value, copied)
		}
	}
	C.logdef_write(C.int(level), file, C.uint32_t(line), function,
		copied(text), C.size_t(len(text)), first, C.size_t(len(fields)))
}

func set(field *C.logdef_field, value any, copied func(string) *C.char) {
	signed := func(value int64) { field._type = C.LOGDEF_FIELD_INT; C.set_int(field, C.int64_t(value)) }
	unsigned := func(value uint64) { field._type = C.LOGDEF_FIELD_UINT; C.set_uint(field, C.uint64_t(value)) }
	real := func(value float64) { field._type = C.LOGDEF_FIELD_DOUBLE; C.set_double(field, C.double(value)) }
	text := func(value string) {
		field._type = C.LOGDEF_FIELD_TEXT
		C.set_text(field, copied(value))
		field.length = C.size_t(len(value))
	}
	switch value := value.(type) {
	case int:
		signed(int64(value))
	case int32:
		signed(int64(value))
	case int64:
		signed(value)
	case uint:
		unsigned(uint64(value))
	case uint32:
		unsigned(uint64(value))
	case uint64:
		unsigned(value)
	case float32:
		real(float64(value))
	case float64:
		real(value)
	case bool:
		field._type = C.LOGDEF_FIELD_BOOL
		if value {
			C.set_uint(field, 1)
		}
	case string:
		text(value)
	case []byte:
		text(string(value))
	default:
		text(fmt.Sprint(value))
	}
}

type writer int

// Writer gives each message of the package log a record of a level, at the place of the call of log.
func Writer(level int) io.Writer { return writer(level) }

// Between Write and the caller of log.Print stand two functions of the package log.
func (level writer) Write(message []byte) (int, error) {
	text := message
	if len(text) > 0 && text[len(text)-1] == '\n' {
		text = text[:len(text)-1]
	}
	write(int(level), string(text), 4, nil)
	return len(message), nil
}
