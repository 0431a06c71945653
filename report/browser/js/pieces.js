"use strict";
// Load pieces of data: scripts in data/ that call receivePiece. `fetch` does not work for a page from a file.

// Pieces of about 256 KB that are kept; the detail of a sample needs one of each model.
const N_PIECES_KEPT = 100;
const pieces = new Map();
const waiting = new Map();
let catalogue = null;

function receivePiece(value) {
  const name = document.currentScript.dataset.piece;
  if (waiting.has(name)) waiting.get(name)(value);
  else catalogue = value;
}

class PieceMissing extends Error {}

function loadPiece(name) {
  const piece = pieces.get(name) ?? requestPiece(name);
  // A map keeps the order of insertion: the first piece is the one that was not used for longest.
  pieces.delete(name);
  pieces.set(name, piece);
  while (pieces.size > N_PIECES_KEPT) pieces.delete(pieces.keys().next().value);
  return piece;
}

function requestPiece(name) {
  return new Promise((resolve, reject) => {
    const script = element("script", { src: `data/${name}.js`, "data-piece": name });
    const finish = (settle, value) => {
      waiting.delete(name);
      script.remove();
      settle(value);
    };
    waiting.set(name, (value) => finish(resolve, value));
    script.addEventListener("error", () => {
      pieces.delete(name);
      finish(reject, new PieceMissing(name));
    });
    document.head.append(script);
  });
}

// Rows in consecutive pieces: [[number of its first row, name of the piece], …].
class Series {
  constructor(parts) {
    this.firsts = parts.map(([first]) => first);
    this.names = parts.map(([, name]) => name);
  }

  async readRow(k) {
    const piece = findLast(this.firsts, k);
    return (await loadPiece(this.names[piece]))[k - this.firsts[piece]];
  }

  // Return a function that reads the rows in their order: at once, or as a promise where a piece must be loaded.
  // The piece after it is loaded, too, so that nobody waits for it later.
  startReading() {
    let piece = -1;
    let rows = null;
    const load = async (next) => {
      if (next + 1 < this.names.length) loadPiece(this.names[next + 1]).catch(() => null);
      [rows, piece] = [await loadPiece(this.names[next]), next];
    };
    return (k) => {
      const isHere = piece >= 0 && k >= this.firsts[piece] && k < (this.firsts[piece + 1] ?? Infinity);
      return isHere ? rows[k - this.firsts[piece]] : load(findLast(this.firsts, k)).then(() => rows[k - this.firsts[piece]]);
    };
  }

  async readAll() {
    const read = await Promise.all(this.names.map(loadPiece));
    this.names.forEach((name) => pieces.delete(name));
    return read.flat();
  }
}

// The index of the last value that is not above k; the values ascend.
function findLast(values, k) {
  let low = 0;
  let high = values.length;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (values[middle] <= k) low = middle;
    else high = middle;
  }
  return low;
}
