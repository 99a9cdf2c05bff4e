//! The scripts that shells load: those that are made of the command line, with a question to the command
//! where a value comes from a log.

use super::OPTIONS;
use crate::args::Args;
use clap::CommandFactory;
use clap_complete::Shell;
use std::fmt::Write;

/// The options, as an alternative in a pattern of each shell.
fn options() -> String {
    OPTIONS.map(|(option, _)| option).join("|")
}

pub fn script(shell: Shell) -> String {
    let mut bytes = Vec::new();
    clap_complete::generate(shell, &mut Args::whole_command(), "logdef", &mut bytes);
    let generated = String::from_utf8_lossy(&bytes).into_owned();
    match shell {
        Shell::Bash => generated + &BASH.replace("OPTIONS", &options()),
        Shell::Zsh => zsh(&generated),
        Shell::Fish => generated + &fish(),
        _ => generated,
    }
}

/// `$2` is the part of the word that bash will replace.
const BASH: &str = r#"
_logdef_or_log() {
    local line=${COMP_LINE:0:COMP_POINT} value
    COMPREPLY=()
    if [[ $line =~ [[:space:]](OPTIONS)[[:space:]=] ]]; then
        while IFS= read -r value; do
            COMPREPLY+=("$value")
        done < <(LOGDEF_COMPLETE_LINE=$line LOGDEF_COMPLETE_WORD=$2 command logdef completions bash 2>/dev/null)
        if ((${#COMPREPLY[@]} > 0)); then
            compopt -o nospace 2>/dev/null
            return 0
        fi
    fi
    _logdef "$@"
}
complete -F _logdef_or_log -o bashdefault -o default logdef
"#;

const ZSH: &str = r#"
_logdef() {
    local line="${(j: :)words[1,CURRENT-1]} $QIPREFIX$PREFIX"
    local -a values
    if [[ $line =~ '[[:space:]](OPTIONS)[[:space:]=]' ]]; then
        values=(${(f)"$(LOGDEF_COMPLETE_LINE=$line command logdef completions zsh 2>/dev/null)"})
        if (( $#values )); then
            [[ $PREFIX == --* ]] && compset -P 1 '*='
            compadd -S '' -a values
            return
        fi
    fi
    _logdef_words "$@"
}
"#;

/// The script ends with what calls `_logdef`, or names it as what completes: that one asks first.
fn zsh(generated: &str) -> String {
    let renamed = generated.replacen("\n_logdef() {", "\n_logdef_words() {", 1);
    let asking = ZSH.replace("OPTIONS", &options());
    match renamed.rfind("\nif [ \"$funcstack[1]\"") {
        Some(at) if renamed.len() > generated.len() => {
            let (before, behind) = renamed.split_at(at);
            format!("{before}{asking}{behind}")
        }
        _ => generated.to_owned(),
    }
}

fn fish() -> String {
    let command = Args::command();
    let mut text = String::from(
        "\nfunction __logdef_of_log\n    \
         set -lx LOGDEF_COMPLETE_LINE (commandline -cp | string collect)\n    \
         command logdef completions fish 2>/dev/null\nend\n",
    );
    for (option, _) in OPTIONS {
        let name = option.trim_start_matches('-');
        let form = if option.starts_with("--") { "-l" } else { "-s" };
        let takes = |verb: &&clap::Command| {
            verb.get_arguments().any(|argument| {
                argument.get_long() == Some(name)
                    || argument
                        .get_short()
                        .is_some_and(|short| name == short.to_string())
            })
        };
        let others = command.get_subcommands().filter(|verb| !takes(verb));
        let others: Vec<_> = others.map(clap::Command::get_name).collect();
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "complete -c logdef -n \"not __fish_seen_subcommand_from {}\" {form} {name} -x -a \"(__logdef_of_log)\"",
            others.join(" ")
        );
    }
    text
}
