"""What unpacks the engine of the page gives what Python's lzma packed, whatever is in it."""

import base64
import lzma
import random


def test_unpacks_what_lzma_packs(tab):
    dice = random.Random(1)
    noise = dice.randbytes(3000)
    words = [dice.randbytes(dice.randint(1, 40)) for _ in range(30)]
    samples = [b"a", b"a" * 5000, noise, noise * 3, bytes(range(256)) * 9, b"".join(dice.choices(words, k=900)),
               b"".join(dice.choice(words) + dice.randbytes(dice.randint(0, 3)) for _ in range(900)),
               noise + bytes(60000) + noise]
    for data in samples:
        for contexts in ((3, 0, 2), (4, 0, 0), (0, 4, 4), (1, 2, 1)):
            filters = [{"id": lzma.FILTER_LZMA1, "preset": 9, **dict(zip(("lc", "lp", "pb"), contexts))}]
            packed = lzma.compress(data, format=lzma.FORMAT_ALONE, filters=filters)
            text = base64.b85encode(packed, pad=True).decode()
            got = tab.run("(() => { let text = ''; for (const byte of unpack('%s', %d)) text += "
                          "String.fromCharCode(byte); return btoa(text); })()" % (text, len(data)))
            assert base64.b64decode(got) == data, (len(data), contexts)
