// What happens at a moment, in sentences.  Their numbers are the data's.

const LISTED_MOST = 4; // of more lanes or words only some are named

// "0", "0 and 2", "0, 1 and 3", "0, 2 … 30" where they are evenly spaced, else "0, 1, 5 and 4 more"
function listNumbers(numbers) {
    const [first, second] = numbers, isMany = numbers.length > LISTED_MOST;
    const isEven = numbers.every((number, i) => number === first + i * (second - first));
    if (isMany && isEven) return `${first}, ${second} … ${numbers[numbers.length - 1]}`;
    if (numbers.length < 2) return numbers.join("");
    const named = isMany ? numbers.slice(0, LISTED_MOST - 1) : numbers.slice(0, -1);
    return `${named.join(", ")} and ${isMany ? `${numbers.length - named.length} more` : numbers[numbers.length - 1]}`;
}

function namedNumbers(noun, numbers) {
    return `${noun}${numbers.length === 1 ? "" : "s"} ${listNumbers(numbers)}`;
}

// ---- an access

// The banks of which an access needs more than one word: {bank, words}, the most words first.
function crowdedBanks(model, access) {
    const banks = new Map();
    for (const word of wordsOf(model, access)) banks.set(word.bank, [...(banks.get(word.bank) || []), word]);
    return [...banks].map(([bank, words]) => ({bank, words})).filter(({words}) => words.length > 1)
        .sort((a, b) => b.words.length - a.words.length || a.bank - b.bank);
}

// "Lanes 0 and 2 both need bank 2, words 2 and 10: this load takes 2 turns instead of 1."
function tellConflict(model, access) {
    const [{bank, words}, ...others] = crowdedBanks(model, access);
    const lanes = words.map(word => word.lanes[0]), places = words.map(word => word.word);
    const listed = namedNumbers("Lane", lanes), isElided = listed.includes("…");
    const who = `${listed}${lanes.length === 2 ? " both" : isElided ? `, ${lanes.length} in all,` : " all"}`;
    const cost = `this ${access.kind} takes ${plural(access.wavefronts, "turn")} instead of ${access.least}`;
    const alike = others.length ? ` Likewise at ${namedNumbers("bank", others.map(other => other.bank))}.` : "";
    return `${who} need bank ${bank}, ${namedNumbers("word", places)}: ${cost}.${alike}`;
}

function tellShared(model, access) {
    if (isConflict(access)) return tellConflict(model, access);
    const words = wordsOf(model, access), lanes = lanesOf(access.lanes);
    const banks = new Set(words.map(word => word.bank)).size;
    const who = `${namedNumbers("Lane", lanes)} ${lanes.length === 1 ? "needs" : "need"} ${plural(words.length, "word")}`;
    return `${who} in ${plural(banks, "bank")}: this ${access.kind} takes ${plural(access.wavefronts, "turn")}, the least.`;
}

// What is in global memory, by its name in the data.
const ARRAY_WORDS = {input: "the input", partials: "the partial results", result: "the result", ticket: "the ticket"};

// "Lanes 0, 1, 2 and 3 change 1 word of the result: 4 atomic operations, one after the other."
function tellQueue(access) {
    const lanes = lanesOf(access.lanes), places = new Set(access.offsets).size, queue = lanesInQueue(access);
    const share = queue === lanes.length ? "" : `, up to ${queue} of them on one word`;
    return `${namedNumbers("Lane", lanes)} change ${plural(places, "word")} of ${ARRAY_WORDS[access.array]}: `
        + `${lanes.length} atomic operations${share}, one after the other.`;
}

function tellGlobal(access) {
    if (lanesInQueue(access) > 1) return tellQueue(access);
    const lanes = lanesOf(access.lanes), lines = linesOf(access);
    const words = lines.reduce((sum, line) => sum + line.words.size, 0);
    return `${namedNumbers("Lane", lanes)} ${lanes.length === 1 ? "touches" : "touch"} ${plural(words * WORD_NBYTES, "byte")} of ${ARRAY_WORDS[access.array]}: `
        + `this ${access.kind} takes ${plural(access.requests, "request")} and ${plural(access.sectors, "sector")} of ${SECTOR_NBYTES} bytes.`;
}

function tellAccess(model, access) {
    return access.space === "shared" ? tellShared(model, access) : tellGlobal(access);
}

// ---- a moment

// "4 of 8 lanes active in 1 working warp; 1 warp diverges; 6 shared wavefronts, bank degree 2."
function tellStep(data, step) {
    const parting = step.divergent_warps === 0 ? "no warp diverges"
        : `${plural(step.divergent_warps, "warp")} ${step.divergent_warps === 1 ? "diverges" : "diverge"}`;
    const words = [`${step.active_lanes} of ${plural(step.warps * data.warp, "lane")} active in ${plural(step.warps, "working warp")}`,
                   parting];
    if (step.global_requests) words.push(plural(step.global_requests, "global request"));
    if (step.shared_wavefronts) words.push(`${plural(step.shared_wavefronts, "shared wavefront")}, bank degree ${numeral(step.bank_degree)}`);
    const isWithout = !step.global_requests && !step.shared_wavefronts;
    return `${words.join("; ")}.${isWithout ? " Values go from register to register; no memory is touched." : ""}`;
}

function blockWords(data) {
    const block = `a block of ${plural(data.block, "thread")}`;
    return data.cluster > 1 ? `${block}, the first of a cluster of ${data.cluster}` : block;
}

// ", each of 8192 bytes", or ": 2 of 8192 bytes and 1 of 7232 bytes"
function tellSizes(sizes) {
    const counts = new Map();
    for (const nbytes of sizes) counts.set(nbytes, (counts.get(nbytes) || 0) + 1);
    const each = `, ${sizes.length > 1 ? "each " : ""}of ${plural(sizes[0], "byte")}`;
    return counts.size === 1 ? each : `: ${[...counts].map(([nbytes, count]) => `${numeral(count)} of ${plural(nbytes, "byte")}`).join(" and ")}`;
}

// "Thread 0 asks for 3 bulk copies straight to shared memory: 2 of 8192 bytes and 1 of 7232 bytes."
function tellCopies({outside: {copies}}) {
    return [...new Set(copies.map(copy => copy.thread))].map(thread => {
        const sizes = copies.filter(copy => copy.thread === thread).map(copy => copy.nbytes);
        return ` Thread ${thread} asks for ${plural(sizes.length, "bulk copy", "bulk copies")} straight to shared memory${tellSizes(sizes)}.`;
    }).join("");
}

// "7", of an argmax "7 at index 2"
function resultText({result, index}) {
    return index === undefined ? String(result) : `${result} at index ${index}`;
}

function caption(model, index) {
    const {data} = model, frame = model.frames[index];
    if (frame.kind === "start") return `${plural(data.n, "element")}; ${blockWords(data)}.${tellCopies(data)}`;
    if (frame.kind === "end")
        return data.cluster > 1 ? `With what the cluster's other blocks wrote into this one's shared memory, the result is ${resultText(data)}.`
            : `The block's result is ${resultText(data)}.`;
    return tellStep(data, frame.step);
}
