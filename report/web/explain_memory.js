// Memory: the banks of shared memory, wavefront by wavefront, and global memory as lines of 128 bytes.

const LINE_NBYTES = 128, SECTOR_NBYTES = 32, WORD_NBYTES = 4;
const SECTORS = [0, 1, 2, 3]; // of a line
const WORDS_PER_SECTOR = SECTOR_NBYTES / WORD_NBYTES;
const BANKS = {left: 62, pitch: 28, crowdedPitch: 22, crowded: 16, laneY: 13, headY: 64, rowY: 71, rowHeight: 30,
               lowHeight: 17, rowsRoomy: 2, scaleMost: 1.15, tinyWidth: 6.9};
const LINES = {left: 96, pitch: 17.5, rowHeight: 32, top: 20, height: 26, scaleMost: 1.15,
               nameMost: 11, rangeMost: 8};

function isConflict(access) {
    return access.space === "shared" && access.wavefronts > access.least;
}

function accessLabel(access) {
    const isShared = access.space === "shared", mark = isConflict(access) ? " (conflict)" : "";
    const cost = isShared ? plural(access.wavefronts, "wavefront") : plural(access.requests, "request");
    return `${access.kind} ${access.space}, line ${access.line}: ${cost}${mark}`;
}

function drawAccess(model, access) {
    return access.space === "shared" ? drawBanks(model, access) : drawLines(model, access);
}

// ---- banks

// The cell that a word of shared memory is (part of).
function cellOfWord(model, word) {
    return Math.floor((word * WORD_NBYTES - model.data.shared_offset) / model.data.element_nbytes);
}

function wordName(model, word) {
    const nbytes = model.data.element_nbytes, cell = cellOfWord(model, word);
    const isNamed = cell >= 0 && cell < model.data.total.shared_nbytes / nbytes;
    return !isNamed ? `w${word}` : cell < 10 ? `[${cell}]` : String(cell);
}

// {bank, wavefront, word, lanes} of each word that is fetched.
function wordsOf(model, access) {
    const words = new Map();
    for (const [lane, word, wavefront] of access.words) {
        const key = `${word},${wavefront}`;
        if (!words.has(key)) words.set(key, {bank: word % model.data.banks, wavefront, word, lanes: []});
        words.get(key).lanes.push(lane);
    }
    return [...words.values()];
}

function layOutBanks(model, access) {
    const {banks} = model.data, laneCount = Math.min(model.data.warp, model.data.block);
    const rowHeight = access.wavefronts > BANKS.rowsRoomy ? BANKS.lowHeight : BANKS.rowHeight;
    const across = Math.max(banks, laneCount), pitch = across > BANKS.crowded ? BANKS.crowdedPitch : BANKS.pitch;
    const bankPitch = pitch * Math.max(1, laneCount / banks);
    return {
        banks, laneCount, rowHeight, pitch,
        width: BANKS.left + across * pitch + 6,
        height: BANKS.rowY + access.wavefronts * rowHeight + 4,
        laneX: lane => BANKS.left + (lane + 0.5) * pitch,
        bankX: bank => BANKS.left + (bank + 0.5) * bankPitch,
        rowY: row => BANKS.rowY + row * rowHeight,
    };
}

function tellBanks(access, words, load) {
    const lanes = `Lanes ${lanesOf(access.lanes).join(", ")} touch ${plural(words.length, "word")}`;
    const cost = `in ${plural(load.filter(Boolean).length, "bank")}; ${plural(access.wavefronts, "wavefront")}`;
    const worst = `where ${access.least} would do: up to ${Math.max(...load)} words in one bank`;
    return `${lanes} ${cost}, ${isConflict(access) ? worst : "no conflict"}`;
}

function drawBanks(model, access) {
    const words = wordsOf(model, access), layout = layOutBanks(model, access), {banks, width, height} = layout;
    const load = Array.from({length: banks}, (_, bank) => words.filter(word => word.bank === bank).length);
    const clashes = bank => isConflict(access) && load[bank] > 1;
    const rows = Array.from({length: access.wavefronts}, (_, row) => row);
    const aside = (text, y) => svgText(text, BANKS.left - 10, y, "end faint");
    return svg("svg", {class: "banks", role: "img", viewBox: `0 0 ${width} ${height}`,
                       style: `min-width:${0.82 * width}px;max-width:${BANKS.scaleMost * width}px`,
                       "aria-label": tellBanks(access, words, load)},
               aside("lanes", BANKS.laneY + 4), aside("banks", BANKS.headY + 4),
               words.map(word => drawWires(layout, word, clashes(word.bank))),
               Array.from({length: layout.laneCount}, (_, lane) => drawBankLane(layout, access, lane)),
               load.map((count, bank) => drawBankHead(layout, bank, clashes(bank) ? count : 0)),
               rows.map(row => aside(`turn ${row + 1}`, layout.rowY(row) + layout.rowHeight / 2 + 3)),
               rows.map(row => load.map((_, bank) => drawSlot(layout, "slot", bank, row))),
               words.map(word => drawWord(model, layout, word, clashes(word.bank))));
}

function drawWires(layout, word, isClashing) {
    const end = `${layout.bankX(word.bank)} ${BANKS.headY - 20}`;
    return word.lanes.map(lane => svg("path", {class: isClashing ? "wire clash" : "wire",
                                               d: `M${layout.laneX(lane)} ${BANKS.laneY + 11}L${end}`}));
}

function drawBankLane(layout, access, lane) {
    const x = layout.laneX(lane), isActive = access.lanes >>> lane & 1;
    return svg("g", {"data-lane": lane}, laneShape(isActive ? "active" : "waiting", x, BANKS.laneY, 10),
               svgText(lane, x, BANKS.laneY + 4, isActive ? "middle small on-active" : "middle small"));
}

function drawBankHead(layout, bank, clashing) {
    const x = layout.bankX(bank);
    return [svgText(bank, x, BANKS.headY + 4, clashing ? "middle clashing" : "middle faint"),
            clashing ? svgText(`×${clashing}`, x, BANKS.headY - 8, "middle small clashing") : null];
}

function drawSlot(layout, name, bank, row) {
    const x = layout.bankX(bank) - layout.pitch / 2 + 1;
    return svgBox(name, x, layout.rowY(row), layout.pitch - 2, layout.rowHeight - 3);
}

// In low rows there is room for the lane only, in a narrow slot for no long name of a word.
function drawWord(model, layout, word, isClashing) {
    const x = layout.bankX(word.bank), y = layout.rowY(word.wavefront);
    const isLow = layout.rowHeight < BANKS.rowHeight, isNarrow = layout.pitch < BANKS.pitch;
    const lanes = word.lanes.length > 2 ? `${word.lanes.length}×` : word.lanes.join(",");
    const name = isNarrow && lanes.length > 1 ? lanes : `L${lanes}`; // of two digits the mark has no room
    const below = wordName(model, word.word), hasRoom = !isLow && below.length * BANKS.tinyWidth <= layout.pitch;
    const place = `bank ${word.bank}, wavefront ${word.wavefront + 1}`;
    const attributes = {class: "word", "data-bank": word.bank, "data-wavefront": word.wavefront,
                        "data-word": word.word};
    return svg("g", attributes,
               svg("title", null, `${place}: word ${word.word} for lane ${word.lanes.join(", ")}`),
               drawSlot(layout, isClashing ? "box conflict" : "box read", word.bank, word.wavefront),
               svgBox("plate", x - layout.pitch / 2 + 3, y + 2, layout.pitch - 6, layout.rowHeight - 7, 2),
               svgText(name, x, y + (isLow ? 12 : 13), `middle strong ${isNarrow ? "tiny" : "small"}`),
               hasRoom ? svgText(below, x, y + 23, "middle tiny") : null);
}

// ---- lines

// Each line touched: its number, and the lanes at each of its words.
function linesOf(access) {
    const lines = new Map();
    lanesOf(access.lanes).forEach((lane, i) => {
        for (let at = access.offsets[i]; at < access.offsets[i] + access.nbytes; at += WORD_NBYTES) {
            const number = Math.floor(at / LINE_NBYTES), word = Math.floor(at % LINE_NBYTES / WORD_NBYTES);
            if (!lines.has(number)) lines.set(number, new Map());
            const words = lines.get(number);
            words.set(word, [...(words.get(word) || []), lane]);
        }
    });
    return [...lines.entries()].sort((a, b) => a[0] - b[0]).map(([number, words]) => ({number, words}));
}

function drawLines(model, access) {
    const lines = linesOf(access);
    const width = LINES.left + LINE_NBYTES / WORD_NBYTES * LINES.pitch + 10;
    const height = LINES.top + lines.length * LINES.rowHeight + 6;
    const words = `${plural(lines.length, "line")} of 128 bytes, ${plural(access.sectors, "sector")} of 32`;
    return svg("svg", {class: "lines", role: "img", viewBox: `0 0 ${width} ${height}`, "aria-label": words,
                       style: `min-width:${0.9 * width}px;max-width:${LINES.scaleMost * width}px`},
               SECTORS.map(sector => svgText(`sector ${sector}`, sectorX(sector) + 3, 12, "faint small")),
               lines.map((line, row) => drawLine(model, access, line, LINES.top + row * LINES.rowHeight)));
}

function sectorX(sector) {
    return LINES.left + sector * WORDS_PER_SECTOR * LINES.pitch;
}

function drawLine(model, access, line, y) {
    const count = LINE_NBYTES / model.data.element_nbytes, first = line.number * count;
    const range = `[${first}–${first + count - 1}]`, isLong = range.length > LINES.rangeMost;
    const name = access.array === "input" ? `${isLong ? "" : "input"}${range}` : access.array;
    const fetched = new Set([...line.words.keys()].map(word => Math.floor(word / WORDS_PER_SECTOR)));
    const sectorBox = sector => svgBox(fetched.has(sector) ? "sector fetched" : "sector", sectorX(sector), y,
                                       WORDS_PER_SECTOR * LINES.pitch, LINES.height);
    return svg("g", {class: "line", "data-line": line.number}, svgText(name, LINES.left - 10, y + 18, name.length > LINES.nameMost ? "end small" : "end"),
               SECTORS.map(sectorBox), [...line.words].map(([word, lanes]) => drawTouched(word, lanes, y)));
}

function drawTouched(word, lanes, y) {
    const x = LINES.left + word * LINES.pitch, text = lanes.length > 1 ? `${lanes.length}×` : lanes[0];
    return svg("g", {class: "word"}, svg("title", null, `lane ${lanes.join(", ")}`),
               svgBox("touched", x + 1.5, y + 3.5, LINES.pitch - 3, 19, 2),
               svgText(text, x + LINES.pitch / 2, y + 17, "middle tiny on-active"));
}
