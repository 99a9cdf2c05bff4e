// Asks Perfetto's trace processor, built as WebAssembly, about a trace:
//
//     node query.mjs ENGINE TRACE SQL...
//
// ENGINE is a folder with trace_processor.wasm and the engine_bundle.js that belongs to it, as Perfetto's own
// user interface loads them in a worker. Prints one line of JSON for each SQL: an array of rows, 64-bit integers
// as strings. The engine and the trace processor's remote procedure calls are what Perfetto's sources define
// (protos/perfetto/trace_processor/trace_processor.proto); the few messages needed are written by hand.

import fs from "node:fs";
import path from "node:path";

const [engine, trace, ...queries] = process.argv.slice(2);

// Methods, fields and types of cells of the protocol.
const APPEND = 1, FINALIZE = 2, QUERY = 3;
const MESSAGE = 1, SEQUENCE = 1, METHOD = 2, FATAL = 5, DATA = 101, QUERY_ARGS = 103, QUERY_RESULT = 203;
const NULL = 1, VARINT = 2, FLOAT = 3, STRING = 4;

// Protobuf: a message is an array of [field, value], where a value is a number or bytes.

function varint(value) {
    const bytes = [];
    for (let left = BigInt.asUintN(64, BigInt(value)); ; left >>= 7n) {
        if (left < 0x80n) return [...bytes, Number(left)];
        bytes.push(Number(left & 0x7fn) | 0x80);
    }
}

function encode(fields) {
    const parts = fields.map(([field, value]) =>
        typeof value === "number"
            ? Buffer.from([...varint(field << 3), ...varint(value)])
            : Buffer.concat([Buffer.from([...varint((field << 3) | 2), ...varint(value.length)]), value]));
    return Buffer.concat(parts);
}

class Cursor {
    constructor(bytes) {
        this.bytes = bytes;
        this.at = 0;
    }

    get ended() {
        return this.at >= this.bytes.length;
    }

    varint() {
        let value = 0n;
        for (let shift = 0n; ; shift += 7n) {
            if (this.ended) throw new Error("ends inside a number");
            const byte = this.bytes[this.at++];
            value |= BigInt(byte & 0x7f) << shift;
            if (byte < 0x80) return value;
        }
    }

    take(length) {
        const bytes = this.bytes.subarray(this.at, this.at + length);
        this.at += length;
        return bytes;
    }

    // The next field and its value: a BigInt, or bytes.
    field() {
        const key = Number(this.varint());
        const kind = key & 7;
        if (kind === 0) return [key >> 3, this.varint()];
        if (kind === 2) return [key >> 3, this.take(Number(this.varint()))];
        if (kind === 1) return [key >> 3, this.take(8)];
        if (kind === 5) return [key >> 3, this.take(4)];
        throw new Error(`wire type ${kind}`);
    }
}

function* fields(bytes) {
    for (const cursor = new Cursor(bytes); !cursor.ended; ) yield cursor.field();
}

// Adds the rows of a QueryResult.
function takeResult(bytes, answer) {
    for (const [field, value] of fields(bytes)) {
        if (field === 1) answer.columns++;
        if (field === 2 && value.length > 0) answer.error = Buffer.from(value).toString();
        if (field === 3) takeBatch(value, answer);
    }
}

function takeBatch(bytes, answer) {
    let cells = [], numbers = [], floats = Buffer.alloc(0), texts = [];
    for (const [field, value] of fields(bytes)) {
        if (field === 1) cells = [...value];
        if (field === 2) for (const cursor = new Cursor(value); !cursor.ended; ) numbers.push(cursor.varint());
        if (field === 3) floats = Buffer.from(value);
        if (field === 5) texts = Buffer.from(value).toString().split("\0");
        if (field === 6) answer.ended = value !== 0n;
    }
    let number = 0, float = 0, text = 0;
    for (const cell of cells) {
        answer.cells.push(
            cell === NULL ? null
            : cell === VARINT ? BigInt.asIntN(64, numbers[number++]).toString()
            : cell === FLOAT ? floats.readDoubleLE(8 * float++)
            : cell === STRING ? texts[text++]
            : `cell of type ${cell}`);
    }
}

// The answers of the engine come as a stream: bytes that were not used yet, and who waits.
let pending = Buffer.alloc(0);
let answer = null;

function onReply(bytes) {
    pending = Buffer.concat([pending, bytes]);
    for (;;) {
        const cursor = new Cursor(pending);
        let reply;
        try {
            reply = cursor.field();
        } catch {
            return;
        }
        if (cursor.at > pending.length) return;
        pending = pending.subarray(cursor.at);
        for (const [field, value] of fields(reply[1])) {
            if (field === FATAL) throw new Error(Buffer.from(value).toString());
            if (field === QUERY_RESULT) takeResult(value, answer);
        }
    }
}

// What a worker of a browser has, as far as the engine looks.
const worker = { location: { href: "http://localhost/engine_bundle.js" } };
globalThis.self = worker;
globalThis.importScripts = () => {};
globalThis.WorkerGlobalScope = function () {};
Object.defineProperty(globalThis, "location", { value: worker.location, configurable: true });
const wasm = fs.readFileSync(path.join(engine, "trace_processor.wasm"));
globalThis.XMLHttpRequest = class {
    open() {}
    send() {
        this.response = wasm.buffer.slice(wasm.byteOffset, wasm.byteOffset + wasm.length);
    }
};
// Were there memory of 64 bits, the engine would want another module than the one at hand.
const Module = WebAssembly.Module;
WebAssembly.Module = function (bytes) {
    if (bytes.length === 23) throw new Error("no memory of 64 bits");
    return new Module(bytes);
};

const name = fs.readdirSync(engine).find((file) => /^engine_bundle.*\.js$/.test(file));
// It says there which system calls it lacks.
console.warn = () => {};
(0, eval)(fs.readFileSync(path.join(engine, name), "utf8"));
const port = { postMessage: onReply, onmessage: null };
worker.onmessage({ data: port });

let sequence = 0;
function send(method, ...more) {
    const message = encode([[SEQUENCE, ++sequence], [METHOD, method], ...more]);
    port.onmessage({ data: new Uint8Array(encode([[MESSAGE, message]])) });
}

process.exitCode = 1;
// The engine compiles its module at once and begins in the next turn: before that it has no buffer for requests.
await new Promise((resolve) => setTimeout(resolve, 0));
send(APPEND, [DATA, fs.readFileSync(trace)]);
send(FINALIZE);
for (const sql of queries) {
    answer = { columns: 0, cells: [], error: null, ended: false };
    send(QUERY, [QUERY_ARGS, encode([[1, Buffer.from(sql)]])]);
    if (answer.error) throw new Error(`${sql}: ${answer.error}`);
    const rows = [];
    for (let at = 0; at < answer.cells.length; at += answer.columns) {
        rows.push(answer.cells.slice(at, at + answer.columns));
    }
    console.log(JSON.stringify(rows));
}
process.exitCode = 0;
