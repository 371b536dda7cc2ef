"""Each page's script in one file: what a bundle holds, and what is refused. What it does is shown in a browser."""

import json
import re

import pytest
from django.core.management import call_command

from auditapp.site.static_files import IMPORT, Unbundled, bundle, list_entries
from tools.environment import ROOT


def test_a_module_comes_once_after_what_it_imports():
    scripts = {
        "js/page.js": 'import { b } from "./parts/b.js";\nimport { a } from "./parts/a.js";\n\nb(a);\n',
        "js/parts/a.js": "export const a = 1;\n",
        "js/parts/b.js": 'import { a as first } from "./a.js";\nimport {\n  c,\n} from "../c.js";\n\nexport function b() {}\n',
        "js/c.js": "export const c = 3;\n",
    }
    bundled = bundle("js/page.js", scripts)
    heads = [line for line in bundled.splitlines() if line.startswith("// ")]
    assert heads == ["// js/parts/a.js", "// js/c.js", "// js/parts/b.js", "// js/page.js"]
    assert "const { a: first } = js_parts_a_js;" in bundled
    assert "const {\n  c,\n} = js_c_js;" in bundled
    assert "\nfunction b() {}\n\nreturn { b };\n" in bundled


def test_every_script_that_a_page_names_has_a_file_of_its_own():
    """Also where another page's script imports it. A page that names a file that is not there ends with an error."""
    static = ROOT / "static"
    scripts = {str(file.relative_to(static)): file.read_text(encoding="utf-8") for file in static.rglob("*.js")}
    entries = set(list_entries(scripts))
    assert "js/desk/sentences.js" not in entries
    pages = "\n".join(page.read_text(encoding="utf-8") for page in (ROOT / "templates").rglob("*.html"))
    named = set(re.findall(r"static '(js/[^']+\.js)'", pages))
    assert len(named) > 10
    assert named <= entries


def test_a_script_without_imports_stays_as_it_is():
    assert bundle("js/alone.js", {"js/alone.js": "export const a = 1;\n"}) == "export const a = 1;\n"


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('import a from "./a.js";', "import a from"),
        ('import * as a from "./a.js";', "import * as a"),
        ('import "./a.js";', "import"),
        ("export default 1;", "export default"),
        ("export let changing = 1;", "export let"),
        ("export { a };", "export { a }"),
        ('const a = () => import("./a.js");', "import("),
        ("const place = import.meta.url;", "import.meta"),
        ("await start();", "await start"),
    ],
)
def test_what_a_function_cannot_say_is_refused(text, named):
    scripts = {"js/page.js": f'import {{ b }} from "./b.js";\n{text}\n', "js/b.js": "export const b = 1;\n"}
    with pytest.raises(Unbundled) as raised:
        bundle("js/page.js", scripts)
    assert f'js/page.js: "{named}' in str(raised.value)


def test_a_circle_and_a_missing_module_are_named():
    scripts = {
        "js/a.js": 'import { b } from "./b.js";\n',
        "js/b.js": 'import { a } from "./a.js";\n',
        "js/c.js": 'import { d } from "./d.js";\n',
    }
    with pytest.raises(Unbundled, match=r"js/a\.js imports itself, by way of js/a\.js and js/b\.js"):
        bundle("js/a.js", scripts)
    with pytest.raises(Unbundled, match=r"js/c\.js imports js/d\.js, which does not exist"):
        bundle("js/c.js", scripts)


def test_a_name_that_is_not_exported_is_refused():
    """A browser tells of it when it loads modules; in a bundle it would be undefined."""
    scripts = {
        "js/a.js": 'import {\n  b,\n  c as other,\n} from "./b.js";\n',
        "js/b.js": "export const b = 1, c = 2;\n",
    }
    with pytest.raises(Unbundled, match=r"js/a\.js imports c, which js/b\.js does not export"):
        bundle("js/a.js", scripts)


def test_collected_scripts_are_one_file_each(settings, tmp_path):
    settings.STATIC_ROOT = tmp_path
    settings.STORAGES = {**settings.STORAGES, "staticfiles": {"BACKEND": settings.HASHED_STATIC_FILES}}
    settings.STATICFILES_FINDERS = ["django.contrib.staticfiles.finders.FileSystemFinder"]
    call_command("collectstatic", verbosity=0, interactive=False)
    paths = json.loads((tmp_path / "staticfiles.json").read_text(encoding="utf-8"))["paths"]
    desk = (tmp_path / paths["js/desk.js"]).read_text(encoding="utf-8")
    assert "// js/desk/sentences.js\n" in desk
    assert not IMPORT.search(desk)
    assert not [name for name in paths if name.startswith("js/desk/")]
    pages = (path.read_text(encoding="utf-8") for path in (ROOT / "templates").rglob("*.html"))
    assert not [text for text in pages if "'js/desk/" in text]
