// What the page's engine is packed with: LZMA, in four fifths of the bytes of gzip, which is all that browsers unpack.
// Source: the LZMA specification of Igor Pavlov (public domain).
'use strict';

const unpack = (() => {
  // Places of the probabilities in one array: of every state and position, then of what a choice leads to.
  const isMatch = 0, isRep = 192, isRep0 = 204, isRep1 = 216, isRep2 = 228, isLongRep0 = 240, slots = 432,
    distances = 688, aligned = 802, lengths = 818, repLengths = 1332, literals = 1846;
  const even = 1024; // of 2,048: both values as likely

  // The `size` bytes that `data` (a header of 13 bytes and the coded ones) stands for.
  function bytesOf(data, size) {
    const literalContext = data[0] % 9, rest = Math.floor(data[0] / 9);
    const literalMask = (1 << (rest % 5)) - 1, positionMask = (1 << Math.floor(rest / 5)) - 1;
    const chances = new Uint16Array(literals + (0x300 << (literalContext + (rest % 5)))).fill(even);
    const out = new Uint8Array(size);
    // How wide the choices left are, and where in them the bytes lie, of 32 bits each. They are kept and multiplied as
    // numbers with a sign, which engines hold as they are, and compared with the sign turned.
    const coder = new Int32Array([-1, (data[14] << 24) | (data[15] << 16) | (data[16] << 8) | data[17]]);
    const sign = 1 << 31;
    let at = 18;

    const bit = (place) => {
      const chance = chances[place], range = coder[0], code = coder[1], bound = Math.imul(range >>> 11, chance);
      let width = bound, left = code, value = 0;
      if ((code ^ sign) < (bound ^ sign)) {
        chances[place] = chance + ((2048 - chance) >> 5);
      } else {
        width = (range - bound) | 0;
        left = (code - bound) | 0;
        chances[place] = chance - (chance >> 5);
        value = 1;
      }
      if (width >>> 24 === 0) {
        width <<= 8;
        left = (left << 8) | data[at++];
      }
      coder[0] = width;
      coder[1] = left;
      return value;
    };
    const evenBits = (count) => {
      let value = 0;
      while (count-- > 0) {
        coder[0] >>>= 1;
        const one = (coder[1] ^ sign) >= (coder[0] ^ sign) ? 1 : 0;
        if (one) coder[1] -= coder[0];
        if (coder[0] >>> 24 === 0) {
          coder[0] <<= 8;
          coder[1] = (coder[1] << 8) | data[at++];
        }
        value = (value << 1) | one;
      }
      return value;
    };
    const tree = (place, bits) => {
      let node = 1;
      for (let i = 0; i < bits; ++i) node = (node << 1) | bit(place + node);
      return node - (1 << bits);
    };
    const backwardTree = (place, bits) => {
      let node = 1, value = 0;
      for (let i = 0; i < bits; ++i) {
        const one = bit(place + node);
        node = (node << 1) | one;
        value |= one << i;
      }
      return value;
    };
    const lengthOf = (place, position) => {
      if (bit(place) === 0) return 2 + tree(place + 2 + (position << 3), 3);
      if (bit(place + 1) === 0) return 10 + tree(place + 130 + (position << 3), 3);
      return 18 + tree(place + 258, 8);
    };
    const distanceOf = (length) => {
      const slot = tree(slots + (Math.min(length - 2, 3) << 6), 6);
      if (slot < 4) return slot;
      const bits = (slot >> 1) - 1, start = (2 | (slot & 1)) << bits;
      if (slot < 14) return start + backwardTree(distances + start - slot, bits);
      return start + (evenBits(bits - 4) << 4) + backwardTree(aligned, 4);
    };

    let state = 0, done = 0;
    const last = [0, 0, 0, 0]; // distances, less one, the latest first
    while (done < size) {
      const position = done & positionMask;
      if (bit(isMatch + (state << 4) + position) === 0) {
        const before = done > 0 ? out[done - 1] : 0;
        const place = literals + 0x300 * (((done & literalMask) << literalContext) + (before >> (8 - literalContext)));
        let node = 1;
        if (state >= 7) {
          let match = out[done - last[0] - 1];
          do {
            const wanted = (match >> 7) & 1;
            match <<= 1;
            const one = bit(place + ((1 + wanted) << 8) + node);
            node = (node << 1) | one;
            if (wanted !== one) break;
          } while (node < 0x100);
        }
        while (node < 0x100) node = (node << 1) | bit(place + node);
        out[done++] = node;
        state = state < 4 ? 0 : state < 10 ? state - 3 : state - 6;
        continue;
      }
      let length = 0;
      if (bit(isRep + state) === 0) {
        length = lengthOf(lengths, position);
        last.unshift(distanceOf(length));
        last.pop();
        state = state < 7 ? 7 : 10;
      } else {
        const which = bit(isRep0 + state) === 0 ? 0 : bit(isRep1 + state) === 0 ? 1 : 2 + bit(isRep2 + state);
        if (which > 0) last.unshift(last.splice(which, 1)[0]);
        const isShort = which === 0 && bit(isLongRep0 + (state << 4) + position) === 0;
        length = isShort ? 1 : lengthOf(repLengths, position);
        state = isShort ? (state < 7 ? 9 : 11) : state < 7 ? 8 : 11;
      }
      const from = done - last[0] - 1;
      for (let i = 0; i < length; ++i) out[done + i] = out[from + i];
      done += length;
    }
    return out;
  }

  // Five characters stand for four bytes, the first one for most: base 85 with the alphabet of RFC 1924.
  const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_\x60{|}~';
  function bytesOfText(text) {
    const digits = new Uint8Array(128), data = new Uint8Array((text.length / 5) * 4), view = new DataView(data.buffer);
    for (let i = 0; i < 85; ++i) digits[alphabet.charCodeAt(i)] = i;
    for (let at = 0, i = 0; i < text.length; at += 4) {
      let word = 0;
      for (const end = i + 5; i < end; ++i) word = word * 85 + digits[text.charCodeAt(i)];
      view.setUint32(at, word);
    }
    return data;
  }

  return (text, size) => bytesOf(bytesOfText(text), size);
})();
