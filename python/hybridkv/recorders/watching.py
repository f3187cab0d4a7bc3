"""What the recorders of engines share: the methods that they watch are wrapped while somebody records, and everything
of the engine that is made meanwhile gets a recording of its own.

A recorder hands out its `install`, `uninstall`, `record` and `register`.
"""

import contextlib
import functools
import itertools
import os


class Watching:
    """The methods of an engine that are wrapped while somebody records.

    methods: () -> [(class, name, around)], asked when somebody records and not before, since a plugin is loaded in
        every engine; around(original, self, *args, **kwargs) is called in the place of the method
    """

    def __init__(self, methods):
        self._methods = methods
        self._originals = {}
        self._inside = []   # what was made inside each `record`
        self._path = None   # of the recordings that are to be made; None: none
        self._sample = None
        self._numbers = itertools.count()

    def install(self, path, sample=None):
        """Records all that is made from now on. path: of the first; later ones get .1, .2, … behind it. sample: the
        share of the requests that is recorded, each of them whole; None: all."""
        self._path, self._sample, self._numbers = os.fspath(path), sample, itertools.count()
        if not self._originals:
            for owner, name, around in self._methods():
                self._wrap(owner, name, around)

    def uninstall(self):
        """Leaves the engine as it was. Recordings that are under way go on to their end."""
        self._path = None
        for (owner, name), original in self._originals.items():
            setattr(owner, name, original)
        self._originals.clear()

    @contextlib.contextmanager
    def record(self, path, sample=None):
        """Records what is made inside, until its end."""
        self.install(path, sample)
        made = []
        self._inside.append(made)
        try:
            yield
        finally:
            self._inside.remove(made)
            self.uninstall()
            for watched in made:
                watched.close()

    def register(self):
        """An entry point of the engine's plugins: records where HYBRIDKV_RECORD has a path."""
        path = os.environ.get("HYBRIDKV_RECORD")
        if path:
            share = os.environ.get("HYBRIDKV_RECORD_SAMPLE")
            # An engine in several processes has its scheduler in one of them.
            self.install(f"{path}.{os.getpid()}" if os.path.exists(path) else path, float(share) if share else None)

    def begin(self, make):
        """Something was made that is to be recorded: make(path, sample) with a path of its own; None where nobody
        records."""
        if self._path is None:
            return None
        number = next(self._numbers)
        watched = make(f"{self._path}.{number}" if number else self._path, self._sample)
        for made in self._inside:
            made.append(watched)
        return watched

    def _wrap(self, owner, name, around):
        original = getattr(owner, name)
        self._originals[owner, name] = original

        @functools.wraps(original)
        def wrapped(one, *args, **kwargs):
            return around(original, one, *args, **kwargs)

        setattr(owner, name, wrapped)
