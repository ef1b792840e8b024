"""The pages of the documentation as a reader follows them: fenced blocks, and the files that they are said to be."""

import re


class Block:
    """A fenced block of a page, and the file that it is said to be by the line before it: …is `Sources/Score/main.swift`:"""

    def __init__(self, page, line, language, text, file):
        self.page, self.line, self.language, self.text, self.file = page, line, language, text, file

    def __str__(self):
        return f"{self.page.name}:{self.line}"


def blocks(page):
    found, begun, last = [], None, ""
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if begun is None and (start := re.match(r"```(\w*)$", line)):
            named = re.search(r"`([\w./-]+\.swift)`:$", last)
            begun = (number + 1, start[1], [], named[1] if named else None)
        elif begun and line == "```":
            found.append(Block(page, begun[0], begun[1], "\n".join(begun[2]) + "\n", begun[3]))
            begun = None
        elif begun:
            begun[2].append(line)
        elif line:
            last = line
    return found


# What may not stand within a function.
DECLARATION = re.compile(r"(@\w+|public |final |typealias |struct |enum |extension |actor |class |protocol |import )")


def divided(page, page_blocks):
    """The imports, declarations and statements of blocks, in their order."""
    declarations, statements, imports = [], [], set()
    for block in page_blocks:
        depth, into = 0, None
        for offset, line in enumerate(block.text.splitlines()):
            code = line.split("//")[0]
            if begins := depth == 0 and into is None:
                into = declarations if DECLARATION.match(code) else statements
            if code.startswith("import "):
                imports.add(code.strip())
                continue
            if begins and code.strip():
                into.append(f'#sourceLocation(file: "{page}", line: {block.line + offset})')
            into.append(line)
            depth += code.count("{") + code.count("(") + code.count("[")
            depth -= code.count("}") + code.count(")") + code.count("]")
            # An attribute on a line of its own belongs to what follows.
            if depth == 0 and not code.startswith("@"):
                into = None
    return imports, declarations, statements


def as_source(page, page_blocks, context="", with_statements=True):
    """The page's blocks as one file: declarations as they are, statements within a function."""
    imports, declarations, statements = divided(page, page_blocks)
    body = "\n".join(statements)
    function = [f'#sourceLocation(file: "{page}", line: 1)', "@MainActor func page() async throws {", body, "}"]
    return "\n".join([*sorted(imports), context, *declarations, *(function if with_statements else []), ""])
