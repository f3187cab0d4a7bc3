// Text small enough for an address, and back.
'use strict';

const packing = (() => {
  const longest = 24 * 1024;  // characters; beyond it mail and chat cut addresses, and nobody's config is so large

  async function through(bytes, transform) {
    const stream = new Blob([bytes]).stream().pipeThrough(transform);
    return new Uint8Array(await new Response(stream).arrayBuffer());
  }

  return {
    longest,
    // {length, text}: how many characters it takes; '' where these are too many.
    async pack(bytes) {
      const small = await through(bytes, new CompressionStream('deflate'));
      const length = Math.ceil((small.length * 4) / 3);
      if (length > longest) return { length, text: '' };
      const letters = Array.from(small, (byte) => String.fromCharCode(byte)).join('');
      return { length, text: btoa(letters).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '') };
    },
    // Throws where the text is damaged: deflate ends with a checksum.
    async unpack(text) {
      if (text.length > longest) throw new RangeError('longer than any packed file');
      const letters = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
      return through(Uint8Array.from(letters, (letter) => letter.charCodeAt(0)), new DecompressionStream('deflate'));
    },
  };
})();
