"""Sphinx's configuration for the book: stored outputs are shown, formulas and scripts come from the book itself."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from autograder.authoring.book.places import address  # noqa: E402

project = "Attention and Transformers"
html_title = project
language = "en"
extensions = ["myst_nb", "sphinx_copybutton", "sphinx-mathjax-offline"]

nb_execution_mode = "off"
nb_merge_streams = True
nb_mime_priority_overrides = [("html", "image/png", 0)]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
# A guide may go from its title to small print, without the levels of headings between them.
suppress_warnings = ["myst.header", "mystnb.unknown_mime_type"]

html_theme = "sphinx_book_theme"
html_static_path = ["static"]
html_css_files = ["book.css"]
html_show_sourcelink = html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
html_context = {"default_mode": "auto"}  # light or dark, as on the reader's machine
html_theme_options: dict[str, object] = {
    "use_download_button": False,  # it would give the copy made for Sphinx; each page links to the original
    "use_fullscreen_button": False,
    "navbar_persistent": [],  # the sidebar has the search field
    "footer_content_items": [],
    "icon_links": [],
    "show_toc_level": 2,
    "home_page_in_toc": True,
    "pygments_light_style": "a11y-light",
    "pygments_dark_style": "a11y-dark",
    **({"repository_url": address(), "use_repository_button": True} if address() else {}),
}
copybutton_selector = ".cell_input pre, div.highlight-console pre"
