"""Markdown, as docs/ and README.md use it, made HTML.  Of the standard library only."""

import html
import re


LONG = 40 # letters of a cell that must not stand in a narrow column


def slug(heading):
    """The anchor of a heading, as hosts of code make it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def attributes(*pairs):
    return "".join(f" {name}={value}" if value.isalpha() else f' {name}="{html.escape(value)}"' for name, value in pairs if value)


class Page:
    """link(target) -> where a link of the page leads on the site."""

    def __init__(self, link):
        self.link = link
        self.slugs = {}

    # ---- inside a line

    def inline(self, text):
        """Code spans are taken out first, since nothing in them means anything."""
        spans = []

        def keep(made):
            spans.append(made)
            return f"\0{len(spans) - 1}\0"

        text = re.sub(r"(`+) ?(.+?) ?\1", lambda m: keep(f"<code{attributes(('class', self.kind_of(m[2])))}>{html.escape(m[2])}</code>"), text)
        text = re.sub(r"<(https?://[^>]+)>", lambda m: keep(self.anchor(m[1], html.escape(m[1]))), text)
        text = re.sub(r"!\[([^\]]*)\]\(([^)]+)\)",
                      lambda m: keep(f'<img src="{html.escape(self.link(m[2]))}" alt="{html.escape(m[1])}">'), text)
        text = html.escape(text, quote=False)
        text = re.sub(r"\[([^\]]+)\]\(([^)]+)\)", lambda m: self.anchor(html.unescape(m[2]), m[1]), text)
        text = re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", text)
        text = re.sub(r"(?<![\w*])\*(\S(?:.*?\S)?)\*(?![\w*])", r"<i>\1</i>", text)
        text = re.sub(r"\\([|*_`])", r"\1", text)
        while "\0" in text:
            text = re.sub(r"\0(\d+)\0", lambda m: spans[int(m[1])], text)
        return text

    @staticmethod
    def kind_of(code):
        """An option is one word, whatever its hyphens."""
        return "whole" if "-" in code and len(code) <= 24 else ""

    def anchor(self, target, text):
        return f'<a href="{html.escape(self.link(target))}">{text}</a>'

    # ---- blocks

    def heading(self, line):
        marks, text = re.match(r"(#+) +(.*)", line).groups()
        name = slug(text)
        count = self.slugs[name] = self.slugs.get(name, -1) + 1
        level = len(marks)
        return f'<h{level} id="{name}{f"-{count}" if count else ""}">{self.inline(text)}</h{level}>'

    def table(self, lines):
        rows = [[cell.strip().replace(r"\|", "|") for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))] for line in lines]
        right = [cell.endswith(":") for cell in rows[1]]
        is_long = [any(len(cells[i]) > LONG for cells in rows[2:] if i < len(cells)) for i in range(len(rows[0]))]
        is_prose = len(rows[0]) > 2 and (sum(is_long) > 1 or any(is_long) and not any(right))

        def cell_of(i, cell, tag):
            is_known = tag == "td" and i < len(rows[0])
            made = attributes(("class", "left" if i >= len(right) or not right[i] else ""),
                              ("data-long", "yes" if is_known and is_long[i] else ""),
                              ("role", ("cell" if tag == "td" else "columnheader") if is_prose else ""),
                              ("data-name", re.sub("[`*]", "", rows[0][i]) if is_prose and is_known else ""))
            return f"<{tag}{made}>{self.inline(cell)}</{tag}>"

        def row(cells, tag):
            made = [cell_of(i, cell, tag) for i, cell in enumerate(cells)]
            return f"<tr{attributes(('role', 'row' if is_prose else ''))}>{''.join(made)}</tr>"

        body = "\n".join(row(cells, "td") for cells in rows[2:])
        name = re.sub("[`*]", "", ", ".join(cell for cell in rows[0] if cell))
        kind = attributes(("class", "prose"), ("role", "table")) if is_prose else ""
        return f'<div class="scroll" tabindex="0" role="region" aria-label="Table: {html.escape(name)}"><table{kind}><thead>{row(rows[0], "th")}</thead><tbody>\n{body}\n</tbody></table></div>'

    def listing(self, lines):
        return f'<pre class="scroll" tabindex="0">{html.escape(chr(10).join(lines))}</pre>'

    def items(self, lines):
        """The lines of a list: each item is its first line and those that are indented below it."""
        tag = "ol" if lines[0].lstrip()[0].isdigit() else "ul"
        items = []
        for line in lines:
            mark = re.match(r"(?:[-*]|\d+\.) +", line)
            if mark:
                items.append(([line[mark.end():]], mark.end()))
            else:
                items[-1][0].append(line[min(items[-1][1], len(line) - len(line.lstrip())):])
        return f"<{tag}>" + "".join(f"<li>{self.blocks(item, True)}</li>" for item, _ in items) + f"</{tag}>"

    def blocks(self, lines, is_item=False):
        made, i = [], 0
        while i < len(lines):
            line = lines[i]
            begin = i
            if not line.strip():
                i += 1
            elif line.startswith("<!--"):
                while "-->" not in lines[i]:
                    i += 1
                i += 1
            elif line.startswith("```"):
                i = next(j for j in range(i + 1, len(lines)) if lines[j].startswith("```")) + 1
                made.append(self.listing(lines[begin + 1:i - 1]))
            elif re.match(r"#+ ", line):
                made.append(self.heading(line))
                i += 1
            elif line.startswith("|"):
                while i < len(lines) and lines[i].startswith("|"):
                    i += 1
                made.append(self.table(lines[begin:i]))
            elif line.startswith("    ") and not is_item:
                while i < len(lines) and (lines[i].startswith("    ") or not lines[i].strip()):
                    i += 1
                made.append(self.listing("\n".join(text[4:] for text in lines[begin:i]).rstrip().split("\n")))
            elif re.match(r"([-*]|\d+\.) ", line):
                i = self.end_of_list(lines, i)
                made.append(self.items([text for text in lines[begin:i] if text.strip()]))
            else:
                i += 1
                while i < len(lines) and lines[i].strip() and not re.match(r"```|#+ |\||([-*]|\d+\.) |<!--", lines[i]):
                    i += 1
                text = self.inline(" ".join(part.strip() for part in lines[begin:i]))
                made.append(text if is_item and begin == 0 else f"<p>{text}</p>")
        return "\n".join(made)

    @staticmethod
    def end_of_list(lines, i):
        """A blank line ends it, unless an item or an indented line follows."""
        while i < len(lines):
            if not lines[i].strip():
                following = lines[i + 1] if i + 1 < len(lines) else ""
                if not re.match(r"  +\S|([-*]|\d+\.) ", following):
                    return i
            elif lines[i].startswith(("```", "#", "|", "<!--")):
                return i
            i += 1
        return i


def title_of(text):
    return re.search(r"^# (.+)$", text, re.MULTILINE)[1]


def to_html(text, link):
    return Page(link).blocks(text.splitlines())
