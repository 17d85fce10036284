# SPDX-License-Identifier: MIT
"""Completion for bash, zsh and fish, from what `rochound reference` says.

An option's value is completed by the name that its help gives it: FILE, FOLDER, GPU, QUESTION, or words such as jsonl|csv.
"""

import re

FOLDERS = ("FOLDER", "DIR")
FILES = ("FILE", "TRACE", "BUNDLE", "OUTPUT", "PATH", "BUILD", "PYTHON", "CODE")


class Value:
    """What may be typed for an option: kind is file, folder, list (with commas), words or none."""

    def __init__(self, name, values):
        first = re.split(r"[^A-Z]", name)[0]
        self.name = name
        self.words = []
        if first in values:
            self.kind, self.words = "list" if "," in name else "words", values[first]
        elif first in FOLDERS:
            self.kind = "folder"
        elif first in FILES:
            self.kind = "file"
        else:
            self.words = [word for word in name.split("|") if re.fullmatch(r"[a-z][a-z0-9-]*", word)] if "|" in name else []
            self.kind = "words" if self.words else "none"


class Place:
    """A command, or a part of one: what may follow."""

    def __init__(self, command, values):
        self.name = command["name"]
        self.about = command["about"]
        self.options = command["options"]
        self.values = values
        self.parts = [one["name"].split()[-1] for one in command.get("subcommands", [])]
        # Actions are in the usage: rochound probe build ...
        actions = re.findall(rf"rochound {self.name} ([a-z]+)\b", command["usage"])
        self.words = list(dict.fromkeys(self.parts + [one["name"] for one in command.get("actions", [])] + actions))
        positionals = command["positionals"]
        if positionals and Value(positionals[0]["value"], values).kind == "words":
            self.words = self.words + Value(positionals[0]["value"], values).words
        # Words such as an action are no files; everything else that is typed without an option is one.
        self.files = any(one["names"][0] not in ("action", "words", "pid") for one in positionals)

    def value(self, option):
        return Value(option["value"], self.values)


def places(reference):
    for command in reference["commands"]:
        yield Place(command, reference["values"])
        for part in command["subcommands"]:
            yield Place(part, reference["values"])


def first_sentence(text):
    return " ".join(text.split()).split(". ")[0].rstrip(".")


# --- bash

BASH = r"""# Completion of rochound for bash; made by tools/reference.

# A program and its arguments, which begin at this word: as that program's own completion does it.
_rochound_program() {
  local name
  for name in _comp_command_offset _command_offset; do
    if declare -F $name >/dev/null; then
      $name "$1"
      return
    fi
  done
  compopt -o filenames 2>/dev/null
  local kind=-f
  ((COMP_CWORD > $1)) || [[ ${COMP_WORDS[COMP_CWORD]} == */* ]] || kind=-c
  mapfile -t COMPREPLY < <(compgen $kind -- "${COMP_WORDS[COMP_CWORD]}")
}

_rochound() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}
  local command= part= word options= words= files= value=no i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; ++i)); do
    word=${COMP_WORDS[i]}
    if [[ $word == -- ]]; then
      _rochound_program $((i + 1))
      return
    fi
    [[ $word != -* ]] || continue
    if [[ -z $command ]]; then
      command=$word
    else
      case "$command $word" in
        @PARTS@) part=$word ;;
      esac
    fi
  done
  # value: what the word before wants, or no.
  case $command${part:+ $part} in
    "") words="@COMMANDS@" options="--help --version" ;;
@PLACES@
    *) return ;;
  esac
  if [[ $value == no ]]; then
    if [[ $current == -* ]]; then
      mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current")
      return
    fi
    value="words $words"
  else
    files=
  fi
  case $value in
    file) files=-f ;;
    folder) files=-d ;;
    words*) mapfile -t COMPREPLY < <(compgen -W "${value#words}" -- "$current") ;;
    list*)
      local before=
      [[ $current != *,* ]] || before=${current%,*},
      mapfile -t COMPREPLY < <(compgen -P "$before" -W "${value#list}" -- "${current##*,}")
      ;;
  esac
  if [[ -n $files ]]; then
    compopt -o filenames 2>/dev/null
    local -a found
    mapfile -t found < <(compgen $files -- "$current")
    COMPREPLY+=("${found[@]}")
  fi
}
complete -F _rochound rochound
"""


def bash_place(place):
    names = " ".join(name for one in place.options for name in one["names"])
    words = f' words="{" ".join(place.words)}"' if place.words else ""
    files = " files=-f" if place.files else ""
    lines = [f'    "{place.name}")', f'      options="{names}"{words}{files}', "      case $previous in"]
    for option in place.options:
        if option["takes_value"] and option["value"]:
            value = place.value(option)
            text = f'"{" ".join([value.kind, *value.words])}"' if value.words else value.kind
            lines.append(f"        {'|'.join(option['names'])}) value={text} ;;")
    if lines[-1].endswith("in"):
        lines.pop()
        return "\n".join(lines) + " ;;"
    return "\n".join(lines + ["      esac", "      ;;"])


def bash(reference):
    parts = [f'"{command["name"]} {part["name"].split()[-1]}"' for command in reference["commands"] for part in command["subcommands"]]
    return (BASH.replace("@PARTS@", " | ".join(parts))
            .replace("@COMMANDS@", " ".join(one["name"] for one in reference["commands"]))
            .replace("@PLACES@", "\n".join(bash_place(place) for place in places(reference))))


# --- zsh

ZSH = r"""#compdef rochound
# Completion of rochound for zsh; made by tools/reference.

_rochound() {
  local -i dashes=${words[(ie)--]}
  if (( dashes < CURRENT )); then
    shift dashes words
    (( CURRENT -= dashes ))
    _normal
    return
  fi
  if (( CURRENT == 2 )); then
    local -a commands=(
@COMMANDS@
    )
    _describe -t commands command commands
    _arguments '--help[Print help]' '--version[Print the version]'
    return
  fi
  shift words
  (( CURRENT -= 1 ))
  local place=$words[1]
  if (( CURRENT > 2 )); then
    case "$place $words[2]" in
      @PARTS@)
        place="$place $words[2]"
        shift words
        (( CURRENT -= 1 ))
        ;;
    esac
  fi
  case $place in
@PLACES@
  esac
}

_rochound "$@"
"""


def zsh_quote(text):
    return text.replace("'", "'\\''")


def zsh_text(text):
    return zsh_quote(re.sub(r"([\[\]:\\])", r"\\\1", text))


def zsh_value(value):
    message = zsh_text(value.name) or "value"
    action = {"file": "_files", "folder": "_files -/", "none": " "}.get(value.kind)
    if value.kind == "words":
        action = f"({' '.join(value.words)})"
    if value.kind == "list":
        action = f"_values -s , {message.split(',')[0].split('[')[0].rstrip(chr(92))} {' '.join(value.words)}"
    return f":{message}:{zsh_quote(action)}"


def zsh_place(place):
    lines = [f'    "{place.name}")', "      _arguments \\"]
    for option in place.options:
        names = option["names"]
        about = zsh_text(first_sentence(option["about"]))
        value = zsh_value(place.value(option)) if option["takes_value"] and option["value"] else ""
        spec = f"'({' '.join(names)})'{{{','.join(names)}}}" if len(names) > 1 else f"'{names[0]}'"
        lines.append(f"        {spec}'[{about}]{value}' \\")
    if place.words:
        files = ' "files:file:_files"' if place.files else ""
        lines.append(f"        '1: : _alternative \"words:word:({' '.join(place.words)})\"{files}' \\")
    lines.append(f"        '*:file:{'_files' if place.files else ' '}'")
    return "\n".join(lines + ["      ;;"])


def zsh(reference):
    commands = "\n".join(f"      '{zsh_text(one['name'])}:{zsh_quote(first_sentence(one['about']))}'" for one in reference["commands"])
    parts = [f'"{command["name"]} {part["name"].split()[-1]}"' for command in reference["commands"] for part in command["subcommands"]]
    return (ZSH.replace("@COMMANDS@", commands).replace("@PARTS@", " | ".join(parts))
            .replace("@PLACES@", "\n".join(zsh_place(place) for place in places(reference))))


# --- fish

FISH = r"""# Completion of rochound for fish; made by tools/reference.

# The words before the cursor that are no options; fails after --.
function __rochound_words
    set -l typed (commandline -opc)
    contains -- -- $typed; and return 1
    set -e typed[1]
    string match -v -- '-*' $typed
    return 0
end

# Whether that command, or that part of a command, is typed.
function __rochound_at
    set -l typed (__rochound_words); or return 1
    for number in (seq (count $argv))
        test "$typed[$number]" = "$argv[$number]"; or return 1
    end
end

function __rochound_at_start
    set -l typed (__rochound_words); or return 1
    test (count $typed) -eq 0
end

# Whether nothing follows a command yet.
function __rochound_first
    set -l typed (__rochound_words); or return 1
    test (count $typed) -eq 1; and test "$typed[1]" = "$argv[1]"
end

function __rochound_behind_dashes
    contains -- -- (commandline -opc)
end

# What is after -- is a command line of its own.
function __rochound_program
    set -l typed (commandline -opc) (commandline -ct)
    set -l place (contains -i -- -- $typed)
    complete -C (string join ' ' -- (string escape -- $typed[(math $place + 1)..-2]) $typed[-1])
end

# GPU,GPU: what is before the last comma stays.
function __rochound_list
    set -l before (string match -r '.*,' -- (commandline -ct)); or set before ''
    printf '%s\n' $before$argv
end

complete -c rochound -f
complete -c rochound -n __rochound_behind_dashes -a '(__rochound_program)'
complete -c rochound -n __rochound_at_start -l help -d 'Print help'
complete -c rochound -n __rochound_at_start -l version -d 'Print the version'
"""


def fish_quote(text):
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def fish_option(condition, option, place):
    line = f"complete -c rochound -n {condition}"
    for name in option["names"]:
        line += f" -l {name[2:]}" if name.startswith("--") else f" -s {name[1:]}"
    if option["takes_value"] and option["value"]:
        value = place.value(option)
        if value.kind == "file":
            line += " -r -F"
        elif value.kind == "folder":
            line += " -x -a '(__fish_complete_directories)'"
        elif value.kind == "list":
            line += f" -x -a '(__rochound_list {' '.join(value.words)})'"
        else:
            line += " -x" + (f" -a '{' '.join(value.words)}'" if value.words else "")
    return line + f" -d {fish_quote(first_sentence(option['about']))}\n"


def fish(reference):
    text = FISH
    for one in reference["commands"]:
        text += f"complete -c rochound -n __rochound_at_start -a {one['name']} -d {fish_quote(first_sentence(one['about']))}\n"
    for place in places(reference):
        condition = f"'__rochound_at {place.name}'"
        text += "".join(fish_option(condition, option, place) for option in place.options)
        if place.words:
            text += f"complete -c rochound -n '__rochound_first {place.name}' -a '{' '.join(place.words)}'\n"
        if place.files:
            text += f"complete -c rochound -n {condition} -F\n"
    return text


def make(reference):
    return {"bash-completion/completions/rochound": bash(reference), "zsh/site-functions/_rochound": zsh(reference),
            "fish/vendor_completions.d/rochound.fish": fish(reference)}
