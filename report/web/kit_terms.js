// Words of the field, explained where the pointer or the focus rests.  Each meaning is that of docs/glossary.md.

const TERMS = {
    "active lane": "A lane that executes the current instruction; the others are masked off.",
    "atomic": "An operation that reads a value in memory, changes it and writes it back, with no other access in between.",
    "bank": "One of the 32 memories, each one word wide, that together form shared memory; successive words are in successive banks.",
    "bank conflict": "Lanes of one access that need different words of the same bank, so that the access takes more than one wavefront.",
    "bank degree": "The wavefronts of an access divided by the least number that its width allows; 1 means no conflict.",
    "barrier": "A point at which threads of a block or lanes of a warp wait for each other.",
    "block": "Threads that can wait for each other and share memory.",
    "bulk copy": "A copy, of up to some kilobytes, that one thread requests and that proceeds while the threads continue.",
    "ceiling": "The bandwidth of the fastest pass that only loads the same bytes, measured in the same run.",
    "cluster": "Blocks that run at the same time and can access each other's shared memory.",
    "divergence": "A branch that only some active lanes of a warp take, so that the warp executes both sides one after the other.",
    "fence": "An instruction that orders a thread's accesses before it and those after it, as other threads see them.",
    "finding": "A defect that an observer reports in a kernel, with its line, block and thread: a race, an access out of bounds, a barrier that some threads skip.",
    "lane": "One of the 32 threads of a warp.",
    "mbarrier": "A barrier in shared memory that counts arrivals and bytes.",
    "occupancy": "The warps that a multiprocessor holds at a time, as a share of the most that it could.",
    "partial result": "The result of one block for its elements.",
    "race": "Two accesses of the same byte, at least one of them a store, that nothing orders.",
    "request": "A line of 128 bytes of global memory that one access of a warp touches.",
    "rung": "One kernel of the ladder.",
    "sector": "An aligned 32 bytes of global memory, the least that is transferred; four sectors form a line of 128 bytes.",
    "shuffle": "An instruction by which the lanes of a warp read each other's registers.",
    "step": "One level of a tree, which halves the number of values; a barrier or a shuffle ends it.",
    "ulp": "Unit in the last place: the distance between neighbouring floats at the exact result.",
    "utilization": "The active lanes, summed over the steps, divided by 32 times the number of warps with an active lane, also summed over the steps.",
    "warp": "32 threads of a block that execute together.",
    "wavefront": "One pass of an access through shared memory, in which each bank delivers at most one word.",
    "word": "Four bytes at an address that they divide.",
};

// Other forms of a term, and what pages call it.
const TERM_FORMS = {
    "diverge": "divergence", "diverges": "divergence", "divergent": "divergence", "divergences": "divergence",
    "bulk copies": "bulk copy", "turn": "wavefront", "turns": "wavefront", "share of lanes used": "utilization",
};

function termOf(text) {
    const word = text.toLowerCase(), single = word.replace(/s$/, "");
    return TERM_FORMS[word] || (TERMS[word] ? word : TERMS[single] ? single : null);
}

const TERM_PATTERN = new RegExp(`\\b(?:${[...Object.keys(TERMS).map(term => `${term}s?`), ...Object.keys(TERM_FORMS)]
    .sort((a, b) => b.length - a.length).join("|")})\\b`, "gi");

// A text as nodes, in which the first place of each term explains it.
function withTerms(text) {
    const nodes = [], told = new Set();
    let end = 0;
    for (const match of text.matchAll(TERM_PATTERN)) {
        const term = termOf(match[0]);
        if (told.has(term)) continue;
        told.add(term);
        nodes.push(text.slice(end, match.index), termNode(match[0], term));
        end = match.index + match[0].length;
    }
    return [...nodes, text.slice(end)];
}

// The same of a text with `code`, in which none is a term.
function withTermsAndCode(text) {
    return text.split("`").map((part, i) => i % 2 ? element("code", null, part) : withTerms(part));
}

function termsIn(text) {
    return [...new Set([...text.matchAll(TERM_PATTERN)].map(match => termOf(match[0])))];
}

function termNode(text, term) {
    return element("span", {class: "term", tabindex: "0", "data-term": term, "aria-describedby": "term-tip"}, text);
}

// The same as a cell of a table.
function termed(text) {
    return {text: element("span", null, withTerms(text))};
}

// ---- the tip

// One box for the page: it shows the meaning of the term under the pointer, or else of that with the focus.
function makeTermTip() {
    const tip = element("div", {id: "term-tip", class: "tip", role: "tooltip", hidden: true});
    let focused = null;
    const show = node => {
        tip.hidden = !node;
        if (!node) return;
        const {term} = node.dataset;
        tip.replaceChildren(element("b", null, term), ` ${TERMS[term]}`);
        placeBeside(tip, node.getBoundingClientRect());
    };
    const termAt = event => event.target.closest ? event.target.closest(".term") : null;
    document.addEventListener("pointerover", event => show(termAt(event) || focused));
    document.addEventListener("focusin", event => show(focused = termAt(event)));
    document.addEventListener("focusout", () => show(focused = null));
    document.addEventListener("keydown", event => { if (event.key === "Escape") show(focused = null); });
    return tip;
}

// Below it, or above where there is no room; within the window.
function placeBeside(tip, place) {
    const {offsetWidth: width, offsetHeight: height} = tip, {clientWidth, clientHeight} = document.documentElement;
    const isBelow = place.bottom + height + 8 < clientHeight;
    tip.style.left = `${Math.max(8, Math.min(place.left, clientWidth - width - 8))}px`;
    tip.style.top = `${isBelow ? place.bottom + 4 : Math.max(8, place.top - height - 4)}px`;
}

// These terms and their meanings.  data: of a page whose warps or banks may be others than a GPU's, of which the meanings speak.
function makeTermsPanel(terms, {warp = 32, banks = 32} = {}) {
    const rows = terms.map(term => element("div", null, element("dt", null, term), element("dd", null, TERMS[term])));
    const isOther = warp !== 32 || banks !== 32;
    return panel("Terms", isOther ? element("p", {class: "faint"}, "The 32 are a GPU's: here a warp has ", plural(warp, "lane"),
                                            ", and shared memory ", plural(banks, "bank"), ".") : [],
                 element("dl", {class: "terms"}, rows));
}
