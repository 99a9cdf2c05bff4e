//! What stands before the records: which process it was, why it died, its stacks. With `-o json` it is
//! JSON, an object on a line; with forms that have columns it goes to standard error.

use crate::failure::Failure;
use crate::output::Output;
use crate::show::escape;
use crate::show::json::{Object, list, stack_entry};
use crate::show::printer::Form;
use crate::show::signal;
use crate::show::text::{self, Look};
use crate::verb::core::logs::{Bytes, OpenLog};
use crate::verb::core::process::Process;
use crate::verb::view::View;
use logdef_resync::StackEntry;
use logdef_symbolizer::{CoreDump, Death};
use std::cell::RefCell;
use std::io::Write;

/// Writes what stands before the records.
pub struct Head {
    form: Form,
    look: Look,
    out: RefCell<Output>,
}

impl Head {
    pub fn new(view: &View) -> Head {
        let out = Output::new();
        Head {
            form: view.output,
            look: view.look(out.has_color()),
            out: RefCell::new(out),
        }
    }

    /// The process of a core dump, and the logs that it had open.
    pub fn of_core(&self, core: &CoreDump<Bytes>, logs: &[OpenLog]) -> Result<(), Failure> {
        let process = core.process();
        if self.form == Form::Json {
            return self.json("core", |object| {
                object.number("pid", Some(process.pid.into()));
                object.text("name", Some(&process.name));
                object.text("command", Some(&process.command));
                if let Some(death) = &process.death {
                    object.number("signal", Some(death.signal.into()));
                    object.text(
                        "signal_name",
                        signal::name(death.signal.into()).map(str::as_bytes),
                    );
                    object.number("address", death.address);
                    object.number("sender", death.sender.map(u64::from));
                }
                object.number("threads", Some(core.threads().len() as u64));
                list(object.key("logs"), logs.iter(), push_log);
            });
        }
        let end = match &process.death {
            Some(death) => of_death(death),
            None => "was running when this was written".into(),
        };
        let name = String::from_utf8_lossy(&process.name).into_owned();
        let mut lines = vec![format!("{name} (pid {}) {end}", process.pid)];
        if !process.command.is_empty() {
            let command = String::from_utf8_lossy(&process.command);
            lines.push(format!("command {command}"));
        }
        lines.extend(logs.iter().map(OpenLog::to_string));
        self.lines(&lines)
    }

    /// A process that runs.
    pub fn of_process(&self, process: &Process) -> Result<(), Failure> {
        if self.form == Form::Json {
            return self.json("process", |object| {
                object.number("pid", Some(process.pid.into()));
                object.text("name", Some(&process.name));
                list(object.key("logs"), process.found.logs.iter(), push_log);
            });
        }
        let name = String::from_utf8_lossy(&process.name);
        let mut lines = vec![format!("{name} (pid {}) runs", process.pid)];
        lines.extend(process.found.logs.iter().map(OpenLog::to_string));
        self.lines(&lines)
    }

    /// The stack of a thread.
    pub fn stack(&self, tid: u32, has_died: bool, stack: &[StackEntry]) -> Result<(), Failure> {
        if self.form == Form::Json {
            return self.json("stack", |object| {
                object.number("tid", Some(tid.into()));
                object.bool("died", has_died);
                list(object.key("backtrace"), stack.iter(), stack_entry);
                if stack.last().is_some_and(|entry| entry.is_cut) {
                    object.bool("backtrace_cut", true);
                }
            });
        }
        let died = if has_died { ", which died" } else { "" };
        let mut lines = format!("thread {tid}{died}\n").into_bytes();
        text::Writer::new(self.look.clone()).stack(stack, &mut lines);
        self.text(&lines)
    }

    fn json(&self, kind: &str, members: impl FnOnce(&mut Object<'_>)) -> Result<(), Failure> {
        let mut out = self.out.borrow_mut();
        let mut inner = Vec::new();
        let mut object = Object::begin(&mut inner);
        members(&mut object);
        object.end();
        let mut outer = Object::begin(&mut out.buffer);
        outer.key(kind).extend_from_slice(&inner);
        outer.end();
        out.buffer.push(b'\n');
        out.flush()
    }

    fn lines(&self, lines: &[String]) -> Result<(), Failure> {
        let mut out = Vec::new();
        for line in lines {
            escape::push(line.as_bytes(), &mut out);
            out.push(b'\n');
        }
        self.text(&out)
    }

    /// Lines that can be shown as they are.
    fn text(&self, lines: &[u8]) -> Result<(), Failure> {
        if matches!(self.form, Form::Short | Form::Full) {
            let mut out = self.out.borrow_mut();
            out.buffer.extend_from_slice(lines);
            return out.flush();
        }
        // Nothing can be done about a standard error that is closed.
        let _ = anstream::stderr().write_all(lines);
        Ok(())
    }
}

fn push_log(log: &OpenLog, out: &mut Vec<u8>) {
    let mut object = Object::begin(out);
    object.text("path", Some(&log.path));
    object.text("read_from", Some(log.whereabouts.word().as_bytes()));
    object.number("bytes_in_core", log.in_core);
    object.end();
}

/// `was killed by SIGSEGV: nothing is mapped at 0x10`.
fn of_death(death: &Death) -> String {
    let mut words = format!("was killed by {}", signal::shown(death.signal.into()));
    match (death.address, death.sender) {
        (Some(address), _) => words += &format!(" at {address:#x}{}", reason(death)),
        (None, Some(pid)) => words += &format!(", sent by process {pid}"),
        (None, None) => {}
    }
    words
}

/// What the kernel says of an address that could not be used, in siginfo(7)'s codes.
fn reason(death: &Death) -> &'static str {
    const SIGBUS: u32 = 7;
    const SIGSEGV: u32 = 11;
    match (death.signal, death.code) {
        (SIGSEGV, 1) => ": nothing is mapped there",
        (SIGSEGV, 2) => ": the mapping there does not permit the access",
        (SIGBUS, 2) => ": the file that is mapped there is shorter",
        (SIGBUS, 4 | 5) => ": the memory has a hardware error",
        _ => "",
    }
}
