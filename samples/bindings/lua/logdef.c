/* logdef for Lua 5.4, as a module in C:

       local logdef = require "logdef"
       logdef.open("app.log")
       logdef.warn("disk sda is full", { free = 0, mounted = true })

   Each record names the place in the script from which it was logged, and has the fields of the
   table, in no order of their own, as Lua's tables have none.

       cc -shared -fPIC -I/usr/include/lua5.4 logdef.c -o logdef.so -llogdef */
#include <errno.h>
#include <lauxlib.h>
#include <lua.h>
#include <string.h>

#include "logdef.h"

enum { FIELDS = 32 };

/* The field of a key and a value on the top of the stack; 0 if it has none. */
static int take_field(lua_State *lua, logdef_field *field)
{
    if (lua_type(lua, -2) != LUA_TSTRING)
        return 0;
    field->name = lua_tostring(lua, -2);
    field->length = 0;
    switch (lua_type(lua, -1)) {
    case LUA_TNUMBER:
        if (lua_isinteger(lua, -1)) {
            field->type = LOGDEF_FIELD_INT;
            field->value.i = lua_tointeger(lua, -1);
        } else {
            field->type = LOGDEF_FIELD_DOUBLE;
            field->value.d = lua_tonumber(lua, -1);
        }
        return 1;
    case LUA_TBOOLEAN:
        field->type = LOGDEF_FIELD_BOOL;
        field->value.u = lua_toboolean(lua, -1) ? 1 : 0;
        return 1;
    case LUA_TSTRING:
        field->type = LOGDEF_FIELD_TEXT;
        field->value.text = lua_tolstring(lua, -1, &field->length);
        return 1;
    default:
        return 0;
    }
}

/* Writes the text and the table of fields that are the first arguments. The strings stay valid
   meanwhile: the arguments hold them. */
static int write_record(lua_State *lua, int level)
{
    logdef_field fields[FIELDS];
    size_t n = 0, length;
    const char *text = luaL_checklstring(lua, 1, &length);
    const char *file = NULL, *function = NULL;
    uint32_t line = 0;
    lua_Debug caller;

    if (lua_istable(lua, 2)) {
        for (lua_pushnil(lua); lua_next(lua, 2) != 0; lua_pop(lua, 1)) {
            if (n < FIELDS && take_field(lua, &fields[n]))
                n++;
        }
    }
    if (lua_getstack(lua, 1, &caller) && lua_getinfo(lua, "Sln", &caller)) {
        file = caller.source[0] == '@' ? caller.source + 1 : caller.short_src;
        line = caller.currentline > 0 ? (uint32_t)caller.currentline : 0;
        function = caller.name;
    }
    logdef_write(level, file, line, function, text, length, fields, n);
    return 0;
}

static int trace(lua_State *lua) { return write_record(lua, LOGDEF_TRACE); }
static int debug(lua_State *lua) { return write_record(lua, LOGDEF_DEBUG); }
static int info(lua_State *lua) { return write_record(lua, LOGDEF_INFO); }
static int warn(lua_State *lua) { return write_record(lua, LOGDEF_WARN); }
static int error(lua_State *lua) { return write_record(lua, LOGDEF_ERROR); }
static int fatal(lua_State *lua) { return write_record(lua, LOGDEF_FATAL); }

static int open_log(lua_State *lua)
{
    const char *path = luaL_checkstring(lua, 1);

    if (logdef_open(path) != 0)
        return luaL_error(lua, "%s: %s", path, strerror(errno));
    return 0;
}

static int close_log(lua_State *lua)
{
    (void)lua;
    logdef_close();
    return 0;
}

int luaopen_logdef(lua_State *lua)
{
    static const luaL_Reg functions[] = {
        {"open", open_log}, {"close", close_log}, {"trace", trace}, {"debug", debug}, {"info", info},
        {"warn", warn},     {"error", error},     {"fatal", fatal}, {NULL, NULL},
    };

    luaL_newlib(lua, functions);
    return 1;
}
