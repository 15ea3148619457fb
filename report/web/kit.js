// What all pages share: making elements, the theme, a player of frames, tables, the source with its counts.

// ---- elements

// element("button", {class: "line", onclick: f}, "text", child ...): a null attribute or child is left out.
function element(name, attributes, ...children) {
    return fill(document.createElement(name), attributes, children);
}

// `code` between backquotes.
function withCode(text) {
    return text.split("`").map((part, i) => i % 2 ? element("code", null, part) : part);
}

function svg(name, attributes, ...children) {
    return fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}

function fill(node, attributes, children) {
    for (const [name, value] of Object.entries(attributes || {})) {
        if (value === null || value === undefined || value === false) continue;
        if (typeof value === "function") node.addEventListener(name.slice(2), value);
        else node.setAttribute(name, value === true ? "" : value);
    }
    for (const child of children.flat(Infinity))
        if (child !== null && child !== undefined) node.append(child);
    return node;
}

// A text at (x, y), and a box from there on, in a picture; `name`: their classes.
function svgText(text, x, y, name) {
    return svg("text", {class: name, x, y}, text);
}

function svgBox(name, x, y, width, height, radius) {
    return svg("rect", {class: name, x, y, width, height, rx: radius});
}

function panel(title, ...children) {
    const id = "panel-" + title.toLowerCase().replace(/[^a-z0-9]+/g, "-");
    return element("section", {class: "panel", "aria-labelledby": id}, element("h2", {id}, title), children);
}

// A box that scrolls sideways by itself, also with the keyboard.  Where there is more, it fades, and says to which side.
function scroller(label, ...children) {
    const node = element("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": label}, children,
                         element("div", {class: "more", "aria-hidden": "true"}));
    const tell = () => {
        const left = node.scrollLeft > 4, right = node.scrollLeft + node.clientWidth < node.scrollWidth - 4;
        node.dataset.more = left && right ? "both" : left ? "left" : right ? "right" : "no";
    };
    const watch = new ResizeObserver(() => requestAnimationFrame(tell));
    for (const part of [node, ...node.children]) watch.observe(part);
    node.addEventListener("scroll", tell, {passive: true});
    return node;
}

// ---- numbers and words

function plural(count, noun, nouns) {
    return `${numeral(count)} ${count === 1 ? noun : nouns || noun + "s"}`;
}

// Whole numbers whole, from five digits on in groups of three; four digits of others; nothing for what is not known.
function numeral(value) {
    if (value === null || value === undefined) return "";
    if (typeof value !== "number") return String(value);
    const isLarge = Number.isInteger(value) || Math.abs(value) >= 1000;
    const text = String(isLarge ? Math.round(value) : Number(value.toPrecision(4)));
    return /^-?\d{5,}$/.test(text) ? text.replace(/\B(?=(\d{3})+$)/g, ",") : text;
}

// A count in little room: three digits of those from 100,000 on, "182k" or "5.82M".
function brief(value) {
    if (value < 1e5) return numeral(value);
    const [unit, size] = [["G", 1e9], ["M", 1e6], ["k", 1e3]].find(([, size]) => value >= 0.9995 * size);
    return Number((value / size).toPrecision(3)) + unit;
}

// ---- switches

const BUTTONS_MOST = 16;

// Buttons of which one is pressed, or a list where there are many.  choices: [{value, text, title}]; choose(value) is called on a
// press, and for the first.  The result's select(value) presses one.
function makeChoice(label, choices, choose, first = choices[0].value) {
    return (choices.length > BUTTONS_MOST ? makeList : makeButtons)(label, choices, choose, first);
}

function makeList(label, choices, choose, first) {
    const list = element("select", {"aria-label": label, onchange: () => choose(choices[list.selectedIndex].value)},
        choices.map(choice => element("option", {value: choice.value}, choice.text)));
    function select(value) {
        list.selectedIndex = choices.findIndex(choice => choice.value === value);
        choose(value);
    }
    select(first);
    return {node: list, select};
}

function makeButtons(label, choices, choose, first) {
    const buttons = choices.map(choice => element("button", {
        type: "button", "aria-pressed": "false", title: choice.title || null, "data-value": choice.value,
        onclick: () => select(choice.value),
    }, choice.text));
    function select(value) {
        buttons.forEach((button, i) => button.setAttribute("aria-pressed", String(choices[i].value === value)));
        choose(value);
    }
    select(first);
    return {node: element("div", {class: "group", role: "group", "aria-label": label}, buttons), select};
}

// Kept for the other pages, where the browser does; page.html reads it.
function keepTheme(theme) {
    try {
        localStorage.setItem("warpfold-colours", theme);
    } catch {}
}

function themeChoice() {
    const root = document.documentElement;
    return makeChoice("Colours", [
        {value: "auto", text: "Auto", title: "As the system has it"},
        {value: "light", text: "Light"},
        {value: "dark", text: "Dark"},
    ], theme => {
        if (theme === "auto") delete root.dataset.theme;
        else root.dataset.theme = theme;
        keepTheme(theme);
    }, root.dataset.theme || "auto").node;
}

// ---- the player

const PLAY_MILLISECONDS = 1600;

// Steps through `labels`, one for each frame: a slider, play, keys (arrows, Home, End, space).  show(index)
// draws a frame.  One player a page gets the keys: {keys: true}.
function makePlayer(labels, show, options) {
    const last = labels.length - 1;
    let index = 0, timer = null;
    const slider = element("input", {type: "range", min: 0, max: last, step: 1, value: 0, "aria-label": "Step",
                                     oninput: () => go(Number(slider.value))});
    const where = element("output", {class: "where", "aria-live": "polite"});
    const button = (text, label, act) => element("button", {type: "button", "aria-label": label, title: label,
                                                             onclick: act}, text);
    const first = button("|◀", "First step (Home)", () => go(0));
    const back = button("◀", "Step back (left arrow)", () => go(index - 1));
    const play = button("▶ Play", "Play (space)", () => timer === null ? start() : pause());
    const ahead = button("▶", "Step ahead (right arrow)", () => go(index + 1));
    const end = button("▶|", "Last step (End)", () => go(last));
    const node = element("div", {class: "player", role: "group", "aria-label": "Steps"},
                         first, back, play, ahead, end, slider, where);

    function draw() {
        slider.value = index;
        slider.setAttribute("aria-valuetext", labels[index]);
        where.textContent = labels[index];
        first.disabled = back.disabled = index === 0;
        ahead.disabled = end.disabled = index === last;
        keepFocus();
        show(index);
    }
    // A button that is switched off while it has the focus would lose it to the page's beginning.
    function keepFocus() {
        if (!node.contains(document.activeElement) || !document.activeElement.disabled) return;
        const isShown = slider.getClientRects().length > 0;
        (isShown ? slider : play).focus({preventScroll: true});
    }
    function go(to) {
        pause();
        move(to);
    }
    function move(to) {
        index = Math.max(0, Math.min(last, to));
        draw();
    }
    function tick() {
        move(index + 1);
        if (index === last) pause();
    }
    function start() {
        if (index === last) move(0);
        timer = setInterval(tick, PLAY_MILLISECONDS);
        play.textContent = "‖ Pause";
        play.setAttribute("aria-label", "Pause (space)");
    }
    function pause() {
        if (timer !== null) clearInterval(timer);
        timer = null;
        play.textContent = "▶ Play";
        play.setAttribute("aria-label", "Play (space)");
    }
    const keys = {ArrowLeft: () => go(index - 1), ArrowRight: () => go(index + 1), Home: () => go(0),
                  End: () => go(last), " ": () => timer === null ? start() : pause()};
    function press(event) {
        const act = keys[event.key];
        if (!act || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
        if (!slider.isConnected) return; // another player has taken its place
        if (usesKey(event.target, event.key, slider)) return;
        event.preventDefault();
        act();
    }
    if (options && options.keys) document.addEventListener("keydown", press);
    draw();
    return {
        node, go, get index() { return index; },
    };
}

// Keys that a focused control needs itself are left to it.
function usesKey(target, key, slider) {
    if (target === slider) return key !== " ";
    if (key === " ") return Boolean(target.closest("button, a, select, input, textarea, summary"));
    return target.matches("select, input, textarea, .scroll");
}

// ---- tables

// headings and rows: arrays of cells; a cell is text, a number, or {text, class}, whose text may be a node.
function makeTable(caption, headings, rows) {
    const cell = (value, name, scope) => {
        const told = value !== null && typeof value === "object" ? value : {text: value};
        const text = told.text instanceof Node ? told.text : numeral(told.text);
        return element(name, {class: told.class || null, scope}, text);
    };
    const head = element("tr", null, headings.map(heading => cell(heading, "th", "col")));
    const body = rows.map(([first, ...rest]) => element("tr", null, cell(first, "th", "row"),
                                                        rest.map(value => cell(value, "td", null))));
    return element("table", null, element("caption", null, caption), element("thead", null, head),
                   element("tbody", null, body));
}

// ---- the source

// A listing with counts beside the lines.  columns: [{key, title, term}]; term: what the title means, where it does not name it itself.  The result's
//   count(counts) sets them: a Map from line number to {key: count}; the longest bar is the greatest count;
//   point(lines) marks the lines that execute;
//   note(line, class, mark, title) marks one for good ("wrong", "noted").
// choose(line), if given, makes the lines buttons.  first: the listing begins at this line of the text (1).
function makeSource(text, columns, choose, first = 1) {
    const rows = text.replace(/\n$/, "").split("\n").slice(first - 1)
        .map((line, i) => makeSourceRow(line, i + first, columns, choose));
    const heading = (name, ...content) => element("th", {class: name, scope: "col"}, content);
    const title = column => column.term ? termNode(column.title, column.term) : withTerms(column.title);
    const head = element("tr", null, heading("number", "line"), element("th", null, ""),
                         columns.map(column => heading("count", title(column))), heading("text", "source"));
    const node = element("table", {class: "source"}, element("thead", null, head),
                         element("tbody", null, rows.map(row => row.node)));
    function count(counts) {
        columns.forEach((column, k) => {
            const most = Math.max(1, ...[...counts.values()].map(line => line[column.key] || 0));
            rows.forEach((row, i) => {
                const value = (counts.get(i + first) || {})[column.key] || 0;
                row.counts[k].textContent = value ? brief(value) : "";
                row.counts[k].title = numeral(value);
                row.counts[k].style.setProperty("--heat", value / most);
            });
        });
    }
    function point(lines) {
        rows.forEach((row, i) => {
            const isNow = lines.includes(i + first);
            row.node.classList.toggle("now", isNow);
            if (isNow) row.node.setAttribute("aria-current", "step");
            else row.node.removeAttribute("aria-current");
            row.mark.textContent = isNow ? "▶" : row.noted;
        });
    }
    function note(line, name, mark, title) {
        const row = rows[line - first];
        row.node.classList.add(name);
        row.noted = row.mark.textContent = mark;
        row.node.title = title.replaceAll("`", "");
    }
    return {node, count, point, note, has: line => rows[line - first] !== undefined,
            row: line => rows[line - first].node};
}

function makeSourceRow(line, number, columns, choose) {
    const counts = columns.map(() => element("td", {class: "count"}));
    const mark = element("td", {class: "mark"});
    const words = codeWords(line);
    const text = choose
        ? element("button", {type: "button", class: "line", "aria-label": line.trim() ? null : "empty line",
                            onclick: () => choose(number)}, line ? words : " ") : words;
    const head = element("th", {class: "number", scope: "row"}, number);
    const node = element("tr", {"data-line": number}, head, mark, counts,
                         codeCell(line, text));
    return {node, mark, counts, noted: ""};
}

// A line of code: the space before it takes less room on a small screen.
function codeWords(line) {
    return [element("span", {class: "lead"}, line.match(/^ */)[0]), line.trimStart()];
}

// A long line goes on below, further in.
function codeCell(line, content = codeWords(line)) {
    return element("td", {class: "text", style: `--deep:${Math.min(16, line.match(/^ */)[0].length)}ch`}, content);
}

// A box for a listing. What is laid out beside it later may change its height: no line is cut at its top then either.
function listingBox(...content) {
    const box = scroller("Source", ...content);
    box.classList.add("listing");
    new ResizeObserver(() => keepTopWhole(box)).observe(box);
    return box;
}

function keepTopWhole(box) {
    const head = box.querySelector("thead");
    if (!head || !box.scrollTop) return;
    const edge = box.scrollTop + head.offsetHeight;
    const cut = [...box.querySelectorAll("tbody tr")].find(row => row.offsetTop < edge && edge < row.offsetTop + row.offsetHeight);
    if (cut) box.scrollTop = cut.offsetTop - head.offsetHeight;
}

// Scrolls a listing, and only that, until `row` is in its middle, as far as it goes, and no line is cut at the top.
function reveal(box, row) {
    const head = box.querySelector("thead").offsetHeight, most = box.scrollHeight - box.clientHeight;
    const top = Math.min(row.offsetTop - (box.clientHeight - row.offsetHeight) / 2, most);
    const isBelow = line => line.offsetTop - head > top;
    let first = row;
    while (isBelow(first) && first.previousElementSibling) first = first.previousElementSibling;
    box.scrollTop = first.offsetTop - head;
}

// ", block (0,0,0), thread (32,0,0); 60 threads of a block, 4 times": of an example and how often, as far as it is known.
function tellOccurrences({block, thread, threads, count}) {
    const example = thread ? `, block (${block}), thread (${thread})` : "", many = threads > 1 ? `; ${plural(threads, "thread")} of a block` : "";
    return `${example}${many}${count > 1 ? `, ${numeral(count)} times` : ""}`;
}

// The lines that a finding is told at: one, or those between which the pairs of a race lie.
function linesOfFinding(finding) {
    if (!(finding.pairs > 1)) return [finding.line];
    return Array.from({length: finding.to_line - finding.from_line + 1}, (_, i) => finding.from_line + i);
}

// The lines of source that a finding or an advice speaks of, its own and the other access's, as they stand in the file: each in a
// line of its own, or at least an end of the line above.
function quoteLines(data, {file, line, other}) {
    const lines = (data.sources.find(source => source.file === file)?.text || "").split("\n");
    const numbers = other && other.file === file && other.line !== line ? [other.line, line].sort((a, b) => a - b) : [line];
    const quoted = numbers.filter(number => (lines[number - 1] || "").trim()).map(number => element("code", {class: "quoted"},
        element("span", {class: "faint"}, `${number} `), lines[number - 1].trim()));
    return quoted.length ? quoted : element("br");
}

// ---- lanes

// The three states of a lane, in any picture: it works; it waits while its warp works; its warp rests.
const LANE_STATES = [
    {state: "active", text: "active"},
    {state: "waiting", text: "waiting while its warp works"},
    {state: "idle", text: "idle: its warp rests"},
];

// A disc, a hatched square, a dashed ring: a lane of the given state around (x, y).
function laneShape(state, x, y, radius) {
    if (state === "waiting")
        return svg("rect", {class: "lane-waiting", x: x - radius, y: y - radius, width: 2 * radius,
                            height: 2 * radius, rx: 2});
    return svg("circle", {class: "lane-" + state, cx: x, cy: y, r: radius});
}

function laneEntries() {
    return LANE_STATES.map(({state, text}) => ({picture: laneShape(state, 10, 10, 8), text}));
}

// entries: {picture, text}; the picture is 20 wide and high.
function makeLegend(entries) {
    return element("ul", {class: "legend"}, entries.map(({picture, text}) => element("li", null,
        svg("svg", {width: 20, height: 20, "aria-hidden": "true"}, picture), element("span", null, withTerms(text)))));
}

// ---- the page

// Whole numbers beyond 2^53 stay the text that they were, where the browser tells it; so does the zero that loses its sign as text.
function keepWide(key, value, context) {
    if (Object.is(value, -0)) return "-0";
    const isWide = typeof value === "number" && Number.isInteger(value) && !Number.isSafeInteger(value);
    return isWide && context && context.source ? context.source : value;
}

function isOnSite() {
    return document.querySelector('nav[aria-label="Site"]') !== null;
}

// Where to read on: a page of its own has no address of the docs but that within a checkout; one of the site has links.
function makeDocsLine(...names) {
    if (isOnSite()) return null;
    const links = names.map(name => [" ", element("a", {href: `docs/${name}`}, `docs/${name}`)]);
    return element("p", {class: "faint docs"}, "To read on, in the sources:", links, ". ", element("code", null, "make site"),
                   " writes every page with its links to the documentation and to the other rungs.");
}

// Each kind of page has showPage(data, main) and DOCS, the documents that tell more.
function start() {
    const data = JSON.parse(document.getElementById("data").textContent, keepWide);
    document.getElementById("controls").append(themeChoice());
    document.body.append(makeTermTip());
    const main = document.getElementById("main"), line = makeDocsLine(...DOCS);
    showPage(data, main);
    if (line) main.append(line);
}
