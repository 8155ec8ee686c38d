"""How `make pages` turns lessons into web pages: figures keep their descriptions, and folded code is folded there as well."""

from pathlib import Path

c = get_config()  # noqa: F821 (Jupyter defines it)
c.TemplateExporter.extra_template_basedirs = [str(Path(__file__).parent)]
c.HTMLExporter.template_name = "lesson"
