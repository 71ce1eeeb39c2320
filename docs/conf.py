"""Sphinx configuration of the site."""

import importlib
import importlib.metadata
import pkgutil
import re
import sys
from dataclasses import fields, is_dataclass
from pathlib import Path

import lngeom.empirical

sys.path.extend(str(Path(__file__).parents[1] / place) for place in ("docs/_ext", "docs", "."))

from lngeom_numbers import numbers

project = "lngeom"
author = "The lngeom authors"
project_copyright = "2026, the lngeom authors"
release = importlib.metadata.version("lngeom")
version = release

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_proof",
    "sphinxcontrib.bibtex",
    "sphinx-mathjax-offline",
    "lngeom_evidence",
    "lngeom_ledger",
    "lngeom_library",
]

exclude_patterns = ["_build", "ci", "README.md"]
suppress_warnings = ["config.cache"]  # the evidence is a live object and is gathered anew for each build

html_theme = "furo"
highlight_language = "text"  # a block that names none
html_title = "lngeom"
html_static_path = ["_static"]
html_css_files = ["lngeom.css"]
html_js_files = ["lngeom.js", "figure.js"]
html_favicon = "_static/favicon.svg"
_SUMMARY = (
    "The geometry of LayerNorm and RMSNorm: theorems proved for every dimension, claims of the literature settled one "
    "by one, and a sweep that measures every norm layer of a language model."
)
myst_html_meta = {
    "description lang=en": _SUMMARY,
    "property=og:title": "lngeom",
    "property=og:type": "website",
    "property=og:description": _SUMMARY,
    "name=twitter:card": "summary",
}
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0b5394", "color-brand-content": "#0b5394"},
    "dark_css_variables": {"color-brand-primary": "#8ab8e6", "color-brand-content": "#8ab8e6"},
}

myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath", "fieldlist", "substitution"]
myst_substitutions = numbers()
myst_heading_anchors = 3

bibtex_bibfiles = ["references.bib"]
bibtex_default_style = "plain"
bibtex_reference_style = "author_year"

autodoc_typehints = "signature"
autodoc_preserve_defaults = True
autodoc_member_order = "bysource"
napoleon_google_docstring = True
napoleon_use_param = False  # "array, shape (..., d)" is a description, not a name to link to
napoleon_use_rtype = False
napoleon_custom_sections = [("Attributes", "params_style")]
nitpicky = True
nitpick_ignore_regex = [
    # described by their own manuals
    (
        r"py:.*",
        r"(numpy|scipy|np|os|torch|transformers|matplotlib|rich|collections|fractions|pathlib|random|types|hypothesis)"
        r"\..*",
    ),
    # types that nobody has to name: they stand in a file of a room
    (r"py:.*", r"lngeom\.((?!empirical|proofs)\w+|(empirical|proofs|check)\.\w+)\.\w+\.\w+"),
    (r"py:.*", r"lngeom\..*_\w+\.\w+|lngeom\.sentences\.\w+"),
    (
        r"py:class",
        r"(ArrayLike|NDArray|float64|dict\[str|Vector|Scalar|Epsilon|Array|Reals|PretrainedConfig|Placement"
        r"|Method|Norm|Verdict|LinearOperator|rv_frozen|Generator|Figure|NodeProto|OnnxFile|optional)",
    ),
]

# `sphinx-build -b linkcheck docs docs/_build/linkcheck` asks every other site; the build checks references inside.
linkcheck_timeout = 20
linkcheck_retries = 2
linkcheck_rate_limit_timeout = 60
linkcheck_anchors_ignore_for_url = [r"https://github\.com/.*"]  # anchors that a script makes
linkcheck_report_timeouts_as_broken = False


def _escape_bars(_app, _what, _name, _object, _options, lines: list[str]) -> None:
    """Let |x| mean the absolute value in docstrings, where reStructuredText would look for a substitution."""
    example = False
    for k, line in enumerate(lines):
        example = line.lstrip().startswith(">>>") or (example and bool(line.strip()))
        if not example and "``" not in line:
            lines[k] = line.replace("|", "\\|")


def _list_options(_app, _what, _name, item, _options, lines: list[str]) -> None:
    """Add to the docstring of a dataclass what its fields say of themselves on the command line."""
    told = {field.name: field.metadata.get("settings") for field in fields(item)} if is_dataclass(item) else {}
    if any(told.values()):
        helps = {name: re.sub(r"`+([^`]*--[^`]*)`+", r"``\1``", each["help"]) for name, each in told.items() if each}
        switches = {field.name for field in fields(item) if field.default is True}  # their flag says what False does
        lines += ["", "Attributes:"]
        lines += [f"    {name}: {'if false, ' * (name in switches)}{help}" for name, help in helps.items()] + [""]


def _public_name(app, env, node, content):
    """Resolve a name that a docstring shortens, or that a signature takes from the private module it stands in."""
    if node.get("refdomain") != "py":
        return None
    domain = env.get_domain("py")
    public = re.sub(r"\._\w+", "", node["reftarget"])
    if "." not in public:
        named = [name for name in domain.objects if name.rpartition(".")[2] == public]
        public = named[0] if len(named) == 1 else public
    return domain.resolve_xref(env, node["refdoc"], app.builder, node["reftype"], public, node, content)


def _end_of_code(_app, _docname, source: list[str]) -> None:
    """Drop the blank line that ends a doctest: Python needs it to find the end of the output, readers do not."""
    source[0] = re.sub(r"(?ms)^(```python\n.*?)\n+```$", r"\1\n```", source[0])


def _skip_alias(_app, _what, _name, member, skip: bool, _options) -> bool | None:
    """Leave out the fields of named tuples: Python documents them by their numbers alone."""
    return True if (getattr(member, "__doc__", None) or "").startswith("Alias for field number") else None


def _readable_defaults(_app, _what, _name, _object, _options, signature: str | None, returned: str | None):
    """Write default values so that Sphinx can read the signature, and types of NumPy by their names."""
    return tuple(text and _LONG.sub(_short_type, text.replace("<factory>", "...")) for text in (signature, returned))


_LONG = re.compile(
    r"[~\w.]*_Buffer \| .*?_NestedSequence\[complex \| bytes \| str\]"
    r"|[~\w.]*ndarray\[tuple\[[~\w.]*Any, \.\.\.\], [~\w.]*dtype\[[~\w.]*float64\]\]"
)


def _short_type(found: re.Match[str]) -> str:
    return "ArrayLike" if "_Buffer" in found[0] else "NDArray[float64]"


def _load_public_names() -> None:
    """Ask the packages that load lazily for each of their names: Sphinx documents what stands in a module."""
    packages = pkgutil.iter_modules(lngeom.empirical.__path__, "lngeom.empirical.")
    for found in [*packages, *pkgutil.iter_modules(lngeom.__path__, "lngeom.")]:
        if "._" not in found.name and found.ispkg:
            package = importlib.import_module(found.name)
            for name in getattr(package, "__all__", ()):
                getattr(package, name)


def _repair(_app, _page: str, _template: str, context: dict, _tree) -> None:
    """Drop ids that stand twice, of theorems and of tables in a frame; say of which level captions are.

    A list of references has items: docutils gives them a role of books, and none to what a list must hold.
    """
    if "body" in context:
        body = context["body"].replace(' id="proof-content"', "").replace('role="doc-biblioentry"', 'role="listitem"')
        context["body"] = re.sub(r'(<table [^>]*) id="\w+"', r"\1", body)
    tree = context.get("furo_navigation_tree", "")
    context["furo_navigation_tree"] = tree.replace('role="heading"', 'role="heading" aria-level="2"')


def setup(app) -> None:
    """Connect what is special to this site."""
    _load_public_names()
    app.connect("missing-reference", _public_name)
    app.connect("source-read", _end_of_code)
    app.connect("html-page-context", _repair, priority=900)  # behind the theme's own
    app.connect("autodoc-skip-member", _skip_alias)
    app.connect("autodoc-process-signature", _readable_defaults)
    app.connect("autodoc-process-docstring", _list_options, priority=90)
    app.connect("autodoc-process-docstring", _escape_bars, priority=100)
