#include "json_check.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum { DEPTH_MAX = 64 };

struct check {
    const char *at;
    int depth;
};

static bool check_value(struct check *check);

const char *json_skip_space(const char *text) {
    return text + strspn(text, " \t\r\n");
}

static bool take(struct check *check, char wanted) {
    check->at = json_skip_space(check->at);
    if (*check->at != wanted) return false;
    check->at++;
    return true;
}

static bool check_escape(struct check *check) {
    if (*check->at != 'u') {
        bool is_known = *check->at && strchr("\"\\/bfnrt", *check->at);
        check->at += is_known;
        return is_known;
    }
    check->at++;
    for (int i = 0; i < 4; i++)
        if (!isxdigit((unsigned char)*check->at++)) {
            check->at--;
            return false;
        }
    return true;
}

static bool check_string(struct check *check) {
    if (!take(check, '"')) return false;
    while ((unsigned char)*check->at >= ' ') {
        char c = *check->at++;
        if (c == '"') return true;
        if (c == '\\' && !check_escape(check)) return false;
    }
    return false;
}

static bool check_digits(struct check *check) {
    size_t count = strspn(check->at, "0123456789");
    check->at += count;
    return count > 0;
}

static bool check_number(struct check *check) {
    check->at += *check->at == '-';
    if (*check->at == '0')
        check->at++;
    else if (!check_digits(check))
        return false;
    if (*check->at == '.') {
        check->at++;
        if (!check_digits(check)) return false;
    }
    if (*check->at != 'e' && *check->at != 'E') return true;
    check->at++;
    check->at += *check->at == '+' || *check->at == '-';
    return check_digits(check);
}

static bool check_member(struct check *check) {
    return check_string(check) && take(check, ':') && check_value(check);
}

/* Behind the opening bracket. */
static bool check_list(struct check *check, bool check_one(struct check *), char closing) {
    if (take(check, closing)) return true;
    do
        if (!check_one(check)) return false;
    while (take(check, ','));
    return take(check, closing);
}

static bool check_nested(struct check *check) {
    bool is_object = *check->at++ == '{';
    if (check->depth == DEPTH_MAX) return false;
    check->depth++;
    bool is_right = is_object ? check_list(check, check_member, '}') : check_list(check, check_value, ']');
    check->depth--;
    return is_right;
}

static bool check_value(struct check *check) {
    static const char *const words[] = {"true", "false", "null"};
    check->at = json_skip_space(check->at);
    if (*check->at == '{' || *check->at == '[') return check_nested(check);
    if (*check->at == '"') return check_string(check);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        size_t length = strlen(words[i]);
        if (strncmp(check->at, words[i], length)) continue;
        check->at += length;
        return true;
    }
    return check_number(check);
}

const char *json_value_end(const char *text, const char **wrong) {
    struct check check = {.at = text};
    if (check_value(&check)) return check.at;
    *wrong = check.at;
    return NULL;
}
