"""nbgrader's feedback page without network and without scripts."""

from pathlib import Path

from nbconvert.exporters import HTMLExporter
from traitlets import default

TEMPLATES = Path(__file__).parent / "templates"


class FeedbackPage(HTMLExporter):
    """Takes `mathjax.html.j2` from the kit: nbconvert's loads a script from the network, the kit's allows none."""

    @default("template_paths")
    def _template_paths(self, prune=True, root_dirs=None):
        return [str(TEMPLATES), *HTMLExporter(config=self.config).template_paths]
