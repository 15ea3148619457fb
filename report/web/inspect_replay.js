// The replay of inspect: the last instructions of a warp before a finding, lane by lane.

const TAPE_ROWS = 4; // before and behind the one that is shown
const CELL = 18, LANE = 18, MARGIN = 78;

// makeReplay(data, places, listing): show(finding) draws its replay; the listing's pointer goes along.
function makeReplay(data, places, listing) {
    const node = element("div", null);

    function show(finding) {
        const warps = data.replays.filter(replay => replay.finding === finding.index);
        const frames = warps.flatMap(replay => replay.entries.map(entry => ({...entry, replay})))
            .sort((a, b) => a.time - b.time);
        if (!frames.length) {
            node.replaceChildren(element("p", {class: "faint"}, finding.kind === "leak" ? "A leak shows when the launch has ended: there is no moment to replay."
                : "No replay was kept for this finding; the first 16 have one."));
            listing.point(null);
            return;
        }
        const stage = element("div", {id: "stage"});
        const labels = frames.map((frame, i) => `${i + 1} of ${frames.length} · warp ${frame.replay.warp}`);
        const player = makePlayer(labels, index => {
            stage.replaceChildren(...drawFrame(data, places, finding, frames, index));
            listing.point(places.get(frames[index].ptx_line));
        }, {keys: true});
        const found = lastOf(frames, finding), other = otherOf(frames, finding, found);
        const jump = (text, index) => index < 0 ? null
            : element("button", {type: "button", onclick: () => player.go(index)}, text);
        node.replaceChildren(element("p", null, tellReplay(finding, warps)),
            element("div", {class: "controls"}, jump("✕ The finding", found),
                    jump("✕? The other access", other)),
            player.node, replayLegend(), stage);
        player.go(found);
    }
    return {node, show};
}

// The instruction at which it was found.
function lastOf(frames, finding) {
    for (let i = frames.length - 1; i >= 0; i--)
        if (!frames[i].replay.is_other && frames[i].ptx_line === finding.ptx_line) return i;
    return frames.length - 1;
}

// Of a race, the latest run of the instruction that it is with; -1: it is not among the frames.
function otherOf(frames, finding, found) {
    if (!finding.other || String(finding.other.block) !== String(finding.block)) return -1;
    for (let i = found - 1; i >= 0; i--) if (frames[i].ptx_line === finding.other.ptx_line) return i;
    return -1;
}

function tellReplay(finding, warps) {
    const own = warps.find(replay => !replay.is_other) || warps[0];
    const parts = [`The last ${plural(own.entries.length, "instruction")} of warp ${own.warp} in block `
        + `(${own.block}), up to the finding.`];
    const other = warps.find(replay => replay.is_other);
    if (other)
        parts.push(`Among them, in the order in which they ran, those of warp ${other.warp}, with which it races.`);
    else if (finding.other && String(finding.other.block) !== String(finding.block))
        parts.push(`It races with block (${finding.other.block}), of which nothing is kept.`);
    else if (finding.other) parts.push("It races with another lane of the same warp.");
    return parts.join(" ");
}

function replayLegend() {
    const entry = (shape, text) => element("li", null,
        svg("svg", {width: 20, height: 20, "aria-hidden": "true"}, shape), text);
    const ring = svg("rect", {class: "lane-found", x: 2, y: 2, width: 16, height: 16, rx: 3});
    return element("ul", {class: "legend"}, entry(laneShape("active", 10, 10, 8), "executes"),
        entry(laneShape("waiting", 10, 10, 8), "predicated off by its guard"),
        entry(laneShape("idle", 10, 10, 8), "elsewhere, or exited"), entry(ring, "this finding's lane"));
}

// ---- one frame

function drawFrame(data, places, finding, frames, index) {
    const frame = frames[index], place = places.get(frame.ptx_line);
    const where = place ? `${data.sources[place.source].file.split("/").pop()}:${place.line}`
        : `PTX line ${frame.ptx_line}`;
    const source = place && data.sources[place.source].text;
    const line = source ? (source.split("\n")[place.line - 1] || "").trim() : "";
    const isHere = !frame.replay.is_other && index === lastOf(frames, finding);
    return [
        element("p", null, element("b", null, where), " ", element("code", null, line),
                isHere ? " ✕ the finding" : ""),
        element("p", null, element("code", null, ptxText(data, frame.ptx_line))),
        scroller("Lanes", drawLanes(data, finding, frame)),
        frame.lanes ? scroller("Memory", drawMemory(data, finding, frame)) : null,
        scroller("Instructions around", drawTape(data, places, finding, frames, index)),
    ].filter(Boolean);
}

// The lanes of the frame's warp that the finding names.
function foundLanes(data, finding, frame) {
    const lanes = [];
    for (const access of [finding, finding.other]) {
        if (!access || String(access.block) !== String(frame.replay.block)) continue;
        const [x, y, z] = access.thread, number = x + data.block[0] * (y + data.block[1] * z);
        if (Math.floor(number / data.warp) === frame.replay.warp) lanes.push(number % data.warp);
    }
    return lanes;
}

const hasLane = (mask, lane) => (mask >>> lane & 1) === 1;

function laneNumbers(mask) {
    return Array.from({length: 32}, (_, lane) => lane).filter(lane => hasLane(mask, lane));
}

function drawLanes(data, finding, frame) {
    const found = foundLanes(data, finding, frame), width = MARGIN + data.warp * LANE + 4;
    const executing = plural(laneNumbers(frame.mask).length, "lane");
    const told = `warp ${frame.replay.warp}: ${executing} of ${data.warp} execute`;
    const picture = svg("svg", {width, height: 54, role: "img", "aria-label": told},
        svg("text", {x: 0, y: 22}, `warp ${frame.replay.warp}`));
    for (let lane = 0; lane < data.warp; lane++) {
        const x = MARGIN + lane * LANE + LANE / 2;
        const state = hasLane(frame.mask, lane) ? "active" : hasLane(frame.active, lane) ? "waiting" : "idle";
        picture.append(svg("g", {"data-lane": lane, "data-state": state}, laneShape(state, x, 18, 7)));
        if (found.includes(lane))
            picture.append(svg("rect", {class: "lane-found", x: x - 9, y: 8, width: 18, height: 20, rx: 4}));
        picture.append(svg("text", {class: "middle faint", x, y: 46}, lane));
        if (frame.taken !== undefined && hasLane(frame.taken, lane))
            picture.append(svg("text", {class: "middle on-active", x, y: 22}, state === "idle" ? "" : "↷"));
    }
    return picture;
}

// ---- memory

// Each lane's first byte, as BigInt: addresses may be beyond what a number holds.
function addressesOf(frame) {
    const lanes = laneNumbers(frame.lanes), first = lanes[0];
    return lanes.map((lane, i) => ({lane, address: frame.addresses
        ? BigInt(frame.addresses[i]) : BigInt(frame.first) + BigInt(frame.stride) * BigInt(lane - first)}));
}

// The words of 4 bytes that are touched: a Map from a word's number to the lanes that want it.
function wordsOf(frame) {
    const words = new Map();
    for (const {lane, address} of addressesOf(frame)) {
        const last = (address + BigInt(frame.nbytes) - 1n) / 4n;
        for (let word = address / 4n; word <= last; word++) {
            if (!words.has(word)) words.set(word, []);
            words.get(word).push(lane);
        }
    }
    return words;
}

// Rows of words as the hardware has them: of shared memory a row of the banks, of global memory a line of 128
// bytes.
function drawMemory(data, finding, frame) {
    const isShared = frame.space === "shared", columns = BigInt(isShared ? data.banks : 32);
    const words = wordsOf(frame);
    const rows = [...new Set([...words.keys()].map(word => word / columns))].sort((a, b) => a < b ? -1 : 1);
    const perBank = new Map();
    for (const word of words.keys()) perBank.set(word % columns, (perBank.get(word % columns) || 0) + 1);
    const found = finding.address > 0 || finding.kind === "race" ? BigInt(finding.address) / 4n : -1n;
    const width = MARGIN + Number(columns) * CELL + 4, height = 20 + rows.length * CELL + 4;
    const told = tellMemory(frame, rows.length, words.size);
    const picture = svg("svg", {width, height, class: "memory", role: "img", "aria-label": told},
        svg("text", {class: "faint", x: 0, y: 12}, isShared ? "bank" : "word"));
    for (let column = 0; column < columns; column++)
        picture.append(svg("text", {class: "middle faint", x: MARGIN + (column + .5) * CELL, y: 12}, column));
    rows.forEach((row, i) => {
        const y = 20 + i * CELL, begin = row * columns * 4n;
        picture.append(svg("text", {class: "faint", x: 0, y: y + 13},
            isShared ? `byte ${begin}` : `…${(begin & 0xffffffffn).toString(16).padStart(8, "0")}`));
        for (let column = 0n; column < columns; column++) {
            const word = row * columns + column, lanes = words.get(word);
            const state = !lanes ? null : isShared && perBank.get(column) > 1 ? "conflict"
                : lanes.length > 1 ? "shared-by" : "touched";
            const classes = ["word", state, state && word === found ? "found" : null].filter(Boolean);
            const x = MARGIN + Number(column) * CELL;
            picture.append(svg("rect", {class: classes.join(" "), x, y, width: CELL, height: CELL}));
            if (lanes) picture.append(svg("text", {class: "middle lane", x: x + CELL / 2, y: y + 13},
                                          lanes.length > 1 ? `${lanes[0]}+` : lanes[0]));
        }
    });
    return element("figure", {style: "margin: .3rem 0"}, element("figcaption", {class: "faint"}, told), picture);
}

function tellMemory(frame, rows, words) {
    const lanes = plural(laneNumbers(frame.lanes).length, "lane");
    const what = `${frame.space} memory: ${plural(words, "word")} for ${lanes}`;
    return frame.space === "shared" ? `${what}, by number; words of one bank are served one after the other`
        : `${what}, by number, in ${plural(rows, "line")} of 128 bytes`;
}

// ---- the tape

function drawTape(data, places, finding, frames, index) {
    const first = Math.max(0, index - TAPE_ROWS), found = lastOf(frames, finding);
    const rows = frames.slice(first, index + TAPE_ROWS + 1).map((frame, i) => {
        const place = places.get(frame.ptx_line), isNow = first + i === index;
        const isOther = finding.other && frame.ptx_line === finding.other.ptx_line;
        const flag = first + i === found ? "✕" : isOther ? "✕?" : isNow ? "▶" : "";
        const lanes = `${laneNumbers(frame.mask).length}/${laneNumbers(frame.active).length}`;
        return element("tr", {class: isNow ? "now" : null, "aria-current": isNow ? "step" : null},
            element("td", {class: "flag"}, flag),
            [frame.time, frame.replay.warp, lanes, place ? place.line : ""].map(cell => element("td", null, cell)),
            element("td", {class: "words"}, ptxText(data, frame.ptx_line)));
    });
    return element("table", {class: "tape"},
        element("caption", {class: "hidden"}, "The instructions before and behind"),
        element("thead", null, element("tr", null, ["", "time", "warp", "lanes", "line", "instruction"].map(
            text => element("th", {scope: "col", class: text === "instruction" ? "words" : null}, text)))),
        element("tbody", null, rows));
}
