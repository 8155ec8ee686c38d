"""nbgrader's feedback page without network and without scripts."""

from pathlib import Path

from jinja2 import BytecodeCache, Environment
from jinja2.bccache import Bucket
from nbconvert.exporters import HTMLExporter
from traitlets import default

TEMPLATES = Path(__file__).parent / "templates"


class _Compiled(BytecodeCache):
    """Templates as they were compiled for an earlier page of this process: each page has an environment of its own."""

    def __init__(self):
        self.code: dict[str, bytes] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        if bucket.key in self.code:
            bucket.bytecode_from_string(self.code[bucket.key])

    def dump_bytecode(self, bucket: Bucket) -> None:
        self.code[bucket.key] = bucket.bytecode_to_string()


_COMPILED = _Compiled()


class FeedbackPage(HTMLExporter):
    """Takes `mathjax.html.j2` from the kit: nbconvert's loads a script from the network, the kit's allows none."""

    @default("template_paths")
    def _template_paths(self, prune=True, root_dirs=None):
        return [str(TEMPLATES), *HTMLExporter(config=self.config).template_paths]

    def _create_environment(self) -> Environment:
        environment = super()._create_environment()
        environment.bytecode_cache = _COMPILED
        return environment
