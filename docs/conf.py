"""How the site is built: `make docs`. Nothing is fetched: MathJax comes with the extra, names to link with the tree."""

import os
import sys
import warnings
from pathlib import Path

from sphinx_gallery.sorting import FileNameSortKey

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import inventories  # noqa: E402 - from _ext

import fewer  # noqa: E402 - after the thread count is set

project = "fewer"
author = "The fewer developers"
copyright = "The fewer developers, BSD-3-Clause"  # noqa: A001 - Sphinx's name
version = release = fewer.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx.ext.mathjax",
    "numpydoc",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "site_parts",
]
exclude_patterns = ["_ext", "_templates", "gallery/*.py.md5"]
templates_path = ["_templates"]
nitpicky = True
suppress_warnings = ["config.cache"]  # functions in the settings
default_role = "fewer"

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4

autodoc_typehints = "none"
autosummary_generate = True
numpydoc_show_class_members = False
numpydoc_xref_param_type = True
numpydoc_xref_ignore = "all"  # words that are no names
numpydoc_xref_aliases = {
    "Axes": "matplotlib.axes.Axes",
    "DataFrame": "pandas.DataFrame",
    "Generator": "numpy.random.Generator",
    "LinearOperator": "scipy.sparse.linalg.LinearOperator",
    "RandomState": "numpy.random.RandomState",
    "Series": "pandas.Series",
    "ndarray": "numpy.ndarray",
    **{name: f"fewer.{name}" for name in fewer.__all__ if name[0].isupper()},
}
intersphinx_mapping = inventories.mapping(
    HERE / "_inventories" / "names.txt", HERE.parent / "build" / "inventories"
)

mathjax_path = "mathjax/tex-svg.js"
mathjax3_config = {"svg": {"fontCache": "global"}, "options": {"enableMenu": False}}

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_only_copy_prompt_lines = False

warnings.filterwarnings("ignore", message="FigureCanvasAgg is non-interactive")
sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "within_subsection_order": FileNameSortKey,
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_signature": False,
    "show_memory": False,
    "write_computation_times": False,
    "image_scrapers": ("matplotlib",),
    "reset_modules": ("matplotlib", "site_parts.tight_figures"),
    "remove_config_comments": True,
    "plot_gallery": "True",
    "min_reported_time": 0,
}

html_theme = "pydata_sphinx_theme"
html_title = "fewer"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_show_search_summary = False  # it fetches pages, which a browser refuses for files
html_context = {"default_mode": "auto"}
html_theme_options = {
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": {
        "**": ["page-toc"],
        "index": [],
        "how-to-choose": [],
    },  # wide tables and pictures
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": [], "how-to-choose": [], "theory": [], "extend": []}
