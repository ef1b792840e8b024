"""The public symbols of this package's products, as the compiler's symbol graphs give them.

Reads the modules that `Tools/test` has built (.build-traits), or that MESH_MODULES names.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILT = ROOT / ".build-traits/debug"
CHECKOUTS = ROOT / ".build-traits/checkouts"
MODULES = pathlib.Path(os.environ.get("MESH_MODULES", BUILT / "Modules"))


def module_options():
    """What a compiler needs to import what was built, with the C modules below it."""
    maps = [
        *ROOT.glob("Modules/System/*/module.modulemap"), *CHECKOUTS.glob("*/Sources/*/include/module.modulemap"),
        *CHECKOUTS.glob("*/Sources/*/module.modulemap")]
    options = ["-I", str(MODULES), "-I", str(BUILT / "Modules")]
    for folder in sorted({path.parent for path in maps}):
        options += ["-I", str(folder)]
    for path in sorted(BUILT.glob("*.build/module.modulemap")):
        options += ["-Xcc", f"-fmodule-map-file={path}"]
    for folder in sorted(CHECKOUTS.glob("*/Sources/*/include")):
        options += ["-Xcc", "-I", "-Xcc", str(folder)]
    return options


def products():
    """Libraries that others may depend on, in the manifest's order."""
    # Doesn't wait for a build in .build.
    done = subprocess.run(
        ["swift", "package", "--scratch-path", ".build-traits", "dump-package"], cwd=ROOT, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"the manifest cannot be read: {done.stderr.strip()}")
    return [product["name"] for product in json.loads(done.stdout)["products"] if "library" in product["type"]]


def graph(module, folder):
    """Symbols and relationships of a module, extensions of others' types included, without what is synthesized."""
    done = subprocess.run(
        ["swift", "symbolgraph-extract", "-module-name", module, *module_options(), "-target", target(),
         "-output-dir", str(folder), "-minimum-access-level", "public", "-skip-synthesized-members"],
        capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{module} has no symbols: {last_line(done.stderr)}; build first: Tools/test --filter none")
    symbols, relations = {}, []
    for path in sorted([*folder.glob(f"{module}.symbols.json"), *folder.glob(f"{module}@*.symbols.json")]):
        read = json.loads(path.read_text())
        relations += read["relationships"]
        for symbol in read["symbols"]:
            if symbol["kind"]["identifier"] != "swift.extension":
                symbols[symbol["identifier"]["precise"]] = symbol
    return symbols, relations


def target():
    done = subprocess.run(["swiftc", "-print-target-info"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["target"]["triple"]


def last_line(text):
    return (text.strip().splitlines() or ["no reason given"])[-1][:200]


def place(symbol):
    """File and line, counted from 1."""
    location = symbol["location"]
    path = re.sub(r"^file://", "", location["uri"])
    for start in ("/Modules/", "/Tools/"):
        if start in path:
            path = start[1:] + path.split(start, 1)[1]
            break
    return path, location["position"]["line"] + 1


def of_products(names=None):
    """(module, symbols, relationships) of every product, or of those named."""
    known = products()
    if unknown := sorted(set(names or []) - set(known)):
        sys.exit(f"no such product: {', '.join(unknown)}; there are {', '.join(known)}")
    with tempfile.TemporaryDirectory() as folder:
        for module in names or known:
            yield (module, *graph(module, pathlib.Path(folder)))
