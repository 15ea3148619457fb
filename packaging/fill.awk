# Fills a template of this folder: in place of each @word@ comes what warpfold's own help lists, so that the man
# page and the completions hold no second list of ops, types and options.
#
#   awk -v version=0.1.0 -f fill.awk file=header warpfold.h file=help help.txt file=commands commands.txt file=template warpfold.1.in

# ---- the header: what each op gives, from the comment beside its name; some names share one

file == "header" && /^typedef enum wf_op / { in_ops = 1 }
file == "header" && /^}/ { in_ops = 0 }
file == "header" && in_ops && match($0, /WF_[A-Z0-9_]+/) {
    name = tolower(substr($0, RSTART + 3, RLENGTH - 3))
    meaning[name] = ""
}
file == "header" && in_ops && name != "" {
    text = $0
    if (sub(/^.*\/\* /, "", text) || sub(/^ +\* /, "", text)) {
        sub(/ *\*\/.*$/, "", text)
        meaning[name] = meaning[name] (meaning[name] == "" ? "" : " ") text
    }
}

# ---- the help: paragraphs, each known by how it begins

file == "help" && /^$/ { part = "" }
file == "help" && /^usage:/ { part = "usage" }
file == "help" && /^OP is:/ { part = "ops" }
file == "help" && /^types:/ { part = "types" }
file == "help" && /^options/ {
    part = "options"
    title = $0
    gsub(/^options for |:$/, "", title)
    next
}
file == "help" && /^examples:/ { part = "examples"; next }
file == "help" && part == "" && /./ { part = "text"; if (option_count == 0) text_count++ }

file == "help" && part == "text" && option_count == 0 {
    paragraph[text_count] = paragraph[text_count] (paragraph[text_count] == "" ? "" : "\n") $0
}
file == "help" && part == "usage" {
    sub(/^(usage:)? +/, "")
    at = index($0, "  ")
    usage[++usage_count] = at ? substr($0, 1, at - 1) : $0
    usage_meaning[usage_count] = at ? substr($0, at) : ""
    sub(/^ +/, "", usage_meaning[usage_count])
    if ($2 ~ /^[a-z]+$/) verb[++verb_count] = $2
}
file == "help" && (part == "ops" || part == "types") {
    sub(/^.*:/, "")
    for (i = 1; i <= NF; i++) {
        if (part == "ops") op[++op_count] = $i
        else type[++type_count] = $i
    }
}
file == "help" && part == "options" && /^  --/ {
    option[++option_count] = $1
    group[option_count] = title
    $0 = substr($0, index($0, $1) + length($1))
    # An argument is one space away, the description at least two, or on the next line.
    argument[option_count] = /^ [^ ]/ ? $1 : ""
    sub(/^ [^ ]+/, "")
}
file == "help" && part == "options" && NF {
    gsub(/^ +| +$/, "")
    option_meaning[option_count] = option_meaning[option_count] (option_meaning[option_count] == "" ? "" : " ") $0
}
file == "help" && part == "examples" { example[++example_count] = substr($0, 3) }

# ---- the help of each command: its options

file == "commands" && /^command: / { command = $2; commands[++command_count] = $2 }
file == "commands" && /^  --/ { command_options[command] = command_options[command] (command_options[command] == "" ? "" : " ") $1 }

# ---- as roff writes it

function escaped(text) {
    gsub(/\\/, "\\e", text)
    gsub(/-/, "\\-", text)
    gsub(/'/, "\\(aq", text)
    gsub(/\^/, "\\(ha", text)
    gsub(/~/, "\\(ti", text)
    gsub(/`/, "\\(ga", text)
    return (text ~ /^\./ ? "\\&" : "") text
}

# A command line with its fixed words in bold, and those to be replaced in italics.
function styled(line, result, word) {
    result = ""
    while (match(line, /[A-Za-z-]+/)) {
        word = substr(line, RSTART, RLENGTH)
        result = result substr(line, 1, RSTART - 1)
        result = result (word ~ /^[A-Z]+$/ || word == "options" ? "\\fI" : "\\fB") escaped(word) "\\fR"
        line = substr(line, RSTART + RLENGTH)
    }
    return result line
}

function roff_synopsis(i, result) {
    result = ".nf"
    for (i = 1; i <= usage_count; i++) result = result "\n" styled(usage[i])
    return result "\n.fi"
}

function roff_commands(i, result) {
    for (i = 1; i <= usage_count; i++)
        if (usage_meaning[i] != "") result = result ".TP\n" styled(usage[i]) "\n" escaped(usage_meaning[i]) ".\n"
    return result
}

function roff_text(i, result) {
    for (i = 1; i <= text_count; i++) result = result (i > 1 ? ".PP\n" : "") escaped(paragraph[i]) "\n"
    return result
}

function roff_ops(i, result, text) {
    for (i = 1; i <= op_count; i++) {
        if (!(op[i] in meaning)) fail("the header has no op " op[i])
        result = result (meaning[op[i]] == "" && i > 1 ? ".TQ" : text ".TP") "\n.B " op[i] "\n"
        if (meaning[op[i]] != "") text = escaped(meaning[op[i]]) ".\n"
    }
    return result text
}

function roff_types(i, result) {
    for (i = 1; i <= type_count; i++) result = result (i > 1 ? "\n" : "") ".B " type[i]
    return result
}

function roff_options(i, result, words) {
    result = ".ad l\n" # a list of words has no blanks to widen
    for (i = 1; i <= option_count; i++) {
        if (group[i] != group[i - 1]) result = result ".SS For " group[i] "\n"
        words = styled(option[i] (argument[i] == "" ? "" : " " argument[i]))
        gsub(/\|/, "|\\:", words) # lines may break there
        result = result ".TP\n" words "\n" escaped(option_meaning[i]) ".\n"
    }
    return result ".ad b\n"
}

function roff_examples(i, result) {
    result = ".EX"
    for (i = 1; i <= example_count; i++) result = result "\n" escaped(example[i])
    return result "\n.EE"
}

# ---- as the shells write it

function joined(words, count, separator, i, result) {
    for (i = 1; i <= count; i++) result = result (i > 1 ? separator : "") words[i]
    return result
}

# The words that an option's argument may be; "" where they are not known.
function argument_words(text) {
    if (text == "T") return joined(type, type_count, " ")
    gsub(/\[[^]]*\]/, "", text)
    if (text !~ /^[a-z]+[a-z0-9_|]*$/) return ""
    gsub(/\|/, " ", text)
    return text
}

function takes_file(text) {
    return text == "ACC" || text == "FILE" || text == "LIST"
}

# Ops and commands; stats and dot are both.
function operations(i, j, known, result) {
    result = joined(op, op_count, " ")
    for (i = 1; i <= verb_count; i++) {
        known = 0
        for (j = 1; j <= op_count; j++) known = known || op[j] == verb[i]
        if (!known) result = result " " verb[i]
    }
    return result
}

function bash_arguments(i, result, words) {
    for (i = 1; i <= option_count; i++) {
        if (argument[i] == "") continue
        words = argument_words(argument[i])
        result = result "        " option[i] ") "
        result = result (words != "" ? "words='" words "'" : takes_file(argument[i]) ? "words=files" : "words=") " ;;\n"
    }
    return result
}

# "a|b": the commands that have the same options as the i-th, which is the first of them; "" if it is not.
function alike(i, k, result) {
    for (k = 1; k <= command_count; k++) {
        if (command_options[commands[k]] != command_options[commands[i]]) continue
        if (k < i) return ""
        result = result (result == "" ? "" : "|") (commands[k] ~ /,/ ? "*,*" : commands[k])
    }
    return result
}

# Commands, and ops, with their options.
function bash_options(i, result) {
    for (i = 1; i <= command_count; i++)
        if (alike(i) != "") result = result "        " alike(i) ") words='" command_options[commands[i]] "' ;;\n"
    return result "        *) words='" joined(option, option_count, " ") "' ;;\n"
}

function has_word(list, word) {
    return index(" " list " ", " " word " ")
}

# The commands that take the option, between separators; ops between commas are "OP,OP".
function takers(name, separator, i, result) {
    for (i = 1; i <= command_count; i++)
        if (has_word(command_options[commands[i]], name))
            result = result (result == "" ? "" : separator) (commands[i] ~ /,/ ? "OP,OP" : commands[i])
    return result
}

function zsh_options(i, result, text) {
    for (i = 1; i <= option_count; i++) {
        result = result (i > 1 ? "\n" : "") "_warpfold_for '" takers(option[i], "|") "' "
        text = option_meaning[i]
        gsub(/\\/, "&&", text)
        gsub(/\[|\]|:/, "\\\\&", text)
        gsub(/'/, "'\\''", text)
        result = result "'" option[i] (argument[i] == "" ? "" : "=") "[" text "]"
        if (argument[i] != "") {
            result = result ":" argument[i] ":"
            if (takes_file(argument[i])) result = result "_files"
            else if (argument_words(argument[i]) != "") result = result "(" argument_words(argument[i]) ")"
        }
        result = result "'"
    }
    return result
}

function fish_options(i, result, text) {
    for (i = 1; i <= option_count; i++) {
        text = option_meaning[i]
        gsub(/[\\']/, "\\\\&", text)
        result = result (i > 1 ? "\n" : "") "complete -c warpfold -n '__warpfold_for " takers(option[i], " ") "' -l " substr(option[i], 3)
        if (takes_file(argument[i])) result = result " -r"
        else if (argument[i] != "") result = result " -x -a '" argument_words(argument[i]) "'"
        result = result " -d '" text "'"
    }
    return result
}

# ---- the template

function fail(message) {
    print "fill.awk: " message >"/dev/stderr"
    failed = 1
    exit 1
}

function filling(word) {
    if (word == "version") return version
    if (word == "synopsis") return roff_synopsis()
    if (word == "commands") return roff_commands()
    if (word == "text") return roff_text()
    if (word == "ops") return roff_ops()
    if (word == "types") return roff_types()
    if (word == "options") return roff_options()
    if (word == "examples") return roff_examples()
    if (word == "operations") return operations()
    if (word == "bash_options") return bash_options()
    if (word == "bash_arguments") return bash_arguments()
    if (word == "zsh_options") return zsh_options()
    if (word == "fish_options") return fish_options()
    fail("nothing is known for @" word "@")
}

file == "template" && FNR == 1 {
    if (!usage_count || !op_count || !type_count || !option_count || !example_count || !text_count)
        fail("the help lacks a part")
}
file == "template" {
    line = $0
    while (match(line, /@[a-z_]+@/)) {
        before = substr(line, 1, RSTART - 1)
        word = substr(line, RSTART + 1, RLENGTH - 2)
        line = substr(line, RSTART + RLENGTH)
        fill = filling(word)
        sub(/\n$/, "", fill)
        printf "%s%s", before, fill
    }
    print line
}
