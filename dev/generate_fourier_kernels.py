"""Writes the arithmetic of the transforms on the CPU, in gpu-kernels' package host.fourier.

Four classes do the same operations in the same order, so that their results have the same bits: on
vectors and one number at a time, for float and for double. Each comes in two files, of the radix
passes (*Radix) and of what goes before and after them (*Rows). Edit this program, not the classes:

    python3 dev/generate_fourier_kernels.py && mvn -q spotless:apply
"""

import pathlib
from collections.abc import Callable

HOST = pathlib.Path(__file__).parent.parent / "gpu-kernels/src/main/java/org/tilespark/kernels/host/fourier"
RADICES = (2, 3, 4, 5, 8)


class Writer:
    """The text of one class: expressions of one lane type, and statements."""

    def __init__(self, element: str, vectors: bool) -> None:
        self.element = element
        self.vectors = vectors
        self.box = element.capitalize()
        self.type = f"{self.box}Vector" if vectors else element
        self.name = f"{self.box}{'Vector' if vectors else 'Scalar'}"
        self.lanes = "LANES" if vectors else "1"
        self.lines: list[str] = []

    def put(self, *lines: str) -> None:
        self.lines += lines

    def operation(self, method: str, sign: str, a: str, b: str) -> str:
        return f"{a}.{method}({b})" if self.vectors else f"({a} {sign} {b})"

    def add(self, a: str, b: str) -> str:
        return self.operation("add", "+", a, b)

    def sub(self, a: str, b: str) -> str:
        return self.operation("sub", "-", a, b)

    def mul(self, a: str, b: str) -> str:
        return self.operation("mul", "*", a, b)

    def fma(self, a: str, b: str, c: str) -> str:
        """a b + c, fused where the CPU can."""
        return f"{a}.fma({b}, {c})" if self.vectors else f"Fma.of({bare(a)}, {bare(b)}, {bare(c)})"

    def neg(self, a: str) -> str:
        return f"{a}.neg()" if self.vectors else f"-{a}"

    def load(self, array: str, index: str) -> str:
        return f"{self.type}.fromArray(SPECIES, {array}, {index})" if self.vectors else f"{array}[{index}]"

    def all(self, number: str) -> str:
        return f"{self.type}.broadcast(SPECIES, {number})" if self.vectors else number

    def let(self, name: str, value: str) -> None:
        self.put(f"{self.type} {name} = {bare(value)};")

    def store(self, value: str, array: str, index: str) -> None:
        self.put(f"{value}.intoArray({array}, {index});" if self.vectors else f"{array}[{index}] = {bare(value)};")

    def constant(self, name: str, value: str) -> None:
        value = value if self.element == "double" else f"(float) {value}"
        self.put(f"private static final {self.type} {name} = {self.all(value)};")

    # Complex numbers: the name of one and "r" or "i".

    def let_loaded(self, name: str, index: str) -> None:
        self.let(name + "r", self.load("xr", index))
        self.let(name + "i", self.load("xi", index))

    def let_sum(self, name: str, a: str, b: str) -> None:
        self.let(name + "r", self.add(a + "r", b + "r"))
        self.let(name + "i", self.add(a + "i", b + "i"))

    def let_difference(self, name: str, a: str, b: str) -> None:
        self.let(name + "r", self.sub(a + "r", b + "r"))
        self.let(name + "i", self.sub(a + "i", b + "i"))

    def let_minus_i(self, name: str, a: str, b: str) -> None:
        """a - i b."""
        self.let(name + "r", self.add(a + "r", b + "i"))
        self.let(name + "i", self.sub(a + "i", b + "r"))

    def let_plus_i(self, name: str, a: str, b: str) -> None:
        """a + i b."""
        self.let(name + "r", self.sub(a + "r", b + "i"))
        self.let(name + "i", self.add(a + "i", b + "r"))

    def let_factor(self, name: str, index: str) -> None:
        """Parts of a factor, and minus the imaginary one."""
        self.let(name + "r", self.all(f"w[{index}]"))
        self.let(name + "i", self.all(f"w[{index} + 1]"))
        self.let(name + "m", self.all(f"-w[{index} + 1]"))

    def store_number(self, a: str, index: str) -> None:
        self.store(a + "r", "yr", index)
        self.store(a + "i", "yi", index)

    def store_product(self, a: str, factor: str, index: str) -> None:
        real = self.fma(a + "r", factor + "r", self.mul(a + "i", factor + "m"))
        imag = self.fma(a + "r", factor + "i", self.mul(a + "i", factor + "r"))
        self.store(real, "yr", index)
        self.store(imag, "yi", index)

    def store_scaled(self, a: str, index: str) -> None:
        self.store(self.mul(a + "r", "c"), "yr", index)
        self.store(self.mul(a + "i", "c"), "yi", index)

    # Methods.

    def planes(self, *names: str) -> None:
        for name in names:
            self.put(f"{self.element}[] {name} = {name[0]}.{'re' if name[1] == 'r' else 'im'}();")

    def begin_pass(self, name: str, what: str) -> None:
        array = f"{self.element}[]"
        self.put(
            f"/** {what} */",
            f"static void {name}(RadixPass<{array}> pass, int from, int to, {self.element} scale, Rows<{array}> x,"
            f" Rows<{array}> y) {{",
            f"{array} w = pass.twiddles();",
        )

    def file(self, name: str, imports: list[str], contract: str, head: str, body: Callable[["Writer"], None]) -> None:
        self.lines = []
        if self.vectors:
            imports = [f"jdk.incubator.vector.{self.type}", "jdk.incubator.vector.VectorSpecies", *imports]
        else:
            imports = ["org.tilespark.kernels.host.Fma", *imports]
        self.put("package org.tilespark.kernels.host.fourier;", "")
        self.put(*(f"import {each};" for each in imports), "")
        self.put(f"/** {contract} Written by {{@code dev/generate_fourier_kernels.py}}. */", f"final class {name}{head} {{")
        if self.vectors:
            self.put(
                f"private static final VectorSpecies<{self.box}> SPECIES = {self.type}.SPECIES_PREFERRED;",
                "private static final int LANES = SPECIES.length();",
            )
        self.put(f"private static final int PAD = Rows.PAD_BYTES / {self.box}.BYTES;")
        body(self)
        self.put("}")
        (HOST / f"{name}.java").write_text("\n".join(self.lines) + "\n")


def bare(value: str) -> str:
    """Without parentheses around all of it."""
    if not value.startswith("("):
        return value
    depth = 0
    for at, letter in enumerate(value):
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            return value[1:-1] if at == len(value) - 1 else value
    return value


# Butterflies: from x0, x1, ... to u0, u1, ...


def butterfly_2(t: Writer) -> None:
    t.let_sum("u0", "x0", "x1")
    t.let_difference("u1", "x0", "x1")


def fourth(t: Writer, inputs: tuple[str, str, str, str], outputs: tuple[str, str, str, str]) -> None:
    a, b, c, d = inputs
    o = outputs[0]
    t.let_sum(o + "ac", a, c)
    t.let_difference(o + "acd", a, c)
    t.let_sum(o + "bd", b, d)
    t.let_difference(o + "bdd", b, d)
    t.let_sum(outputs[0], o + "ac", o + "bd")
    t.let_minus_i(outputs[1], o + "acd", o + "bdd")
    t.let_difference(outputs[2], o + "ac", o + "bd")
    t.let_plus_i(outputs[3], o + "acd", o + "bdd")


def butterfly_4(t: Writer) -> None:
    fourth(t, ("x0", "x1", "x2", "x3"), ("u0", "u1", "u2", "u3"))


def butterfly_8(t: Writer) -> None:
    for k in range(4):
        t.let_sum(f"a{k}", f"x{k}", f"x{k + 4}")
        t.let_difference(f"b{k}", f"x{k}", f"x{k + 4}")
    fourth(t, ("a0", "a1", "a2", "a3"), ("u0", "u2", "u4", "u6"))
    # times the eighth roots: b1 (1 - i) / sqrt(2), -i b2, b3 (-1 - i) / sqrt(2), of which g and h are
    # the sum and the difference but for the factor
    t.let("pr", t.add("b1r", "b1i"))
    t.let("pi", t.sub("b1i", "b1r"))
    t.let("qr", t.sub("b3i", "b3r"))
    t.let("qi", t.add("b3r", "b3i"))
    t.let_minus_i("e", "b0", "b2")
    t.let_plus_i("f", "b0", "b2")
    t.let("gr", t.add("pr", "qr"))
    t.let("gi", t.sub("pi", "qi"))
    t.let("hr", t.sub("pr", "qr"))
    t.let("hi", t.add("pi", "qi"))
    for name, base, parts, signs in (
        ("u1", "e", ("gr", "gi"), ("", "")),
        ("u3", "f", ("hi", "hr"), ("", "MINUS_")),
        ("u5", "e", ("gr", "gi"), ("MINUS_", "MINUS_")),
        ("u7", "f", ("hi", "hr"), ("MINUS_", "")),
    ):
        for part, factor, sign in zip("ri", parts, signs, strict=True):
            t.let(name + part, t.fma(factor, sign + "HALF_ROOT", base + part))


def butterfly_odd(radix: int) -> Callable[[Writer], None]:
    half = radix // 2

    def write(t: Writer) -> None:
        for j in range(1, half + 1):
            t.let_sum(f"s{j}", f"x{j}", f"x{radix - j}")
            t.let_difference(f"d{j}", f"x{j}", f"x{radix - j}")
        for part in "ri":
            value = f"x0{part}"
            for j in range(1, half + 1):
                value = t.add(value, f"s{j}{part}")
            t.let(f"u0{part}", value)
        for k in range(1, half + 1):
            for part in "ri":
                cosines, sines = f"x0{part}", ""
                for j in range(1, half + 1):
                    turn = j * k % radix
                    folded = min(turn, radix - turn)
                    cosines = t.fma(f"s{j}{part}", f"COS_{folded}_{radix}", cosines)
                    sine = f"{'' if turn <= half else 'MINUS_'}SIN_{folded}_{radix}"
                    sines = t.mul(f"d{j}{part}", sine) if j == 1 else t.fma(f"d{j}{part}", sine, sines)
                t.let(f"a{k}{part}", cosines)
                t.let(f"b{k}{part}", sines)
            t.let_minus_i(f"u{k}", f"a{k}", f"b{k}")
            t.let_plus_i(f"u{radix - k}", f"a{k}", f"b{k}")

    return write


BUTTERFLIES = {2: butterfly_2, 4: butterfly_4, 8: butterfly_8} | {r: butterfly_odd(r) for r in (3, 5)}


def radix_pass(t: Writer, radix: int) -> None:
    t.begin_pass(f"radix{radix}", f"Numbers {{@code from}} to {{@code to}} of each run, by butterflies of {radix}.")
    t.planes("xr", "xi", "yr", "yi")
    t.put(
        "int count = pass.count();",
        "int run = pass.stride() * x.lanes();",
        "int d = count * run + PAD;",
        "boolean last = count == 1;",
        "int e = last ? run + PAD : run;",
    )
    t.let("c", t.all("scale"))
    t.put(
        "for (int p = 0; p < count; p++) {",
        f"int v = {2 * (radix - 1)} * p;",
        f"int first = {radix} * p * run + p / pass.next() * PAD;",
    )
    t.put(f"for (int i = from; i < to; i += {t.lanes}) {{", "int a = p * run + i;", "int o = first + i;")
    for j in range(radix):
        t.let_loaded(f"x{j}", times("a", j, "d"))
    BUTTERFLIES[radix](t)
    t.put("if (last) {")
    for j in range(radix):
        t.store_scaled(f"u{j}", times("o", j, "e"))
    t.put("} else {")
    t.store_number("u0", "o")
    for j in range(1, radix):  # a factor is read where it is used: a register cannot be spared for it
        t.let_factor(f"w{j}", f"v + {2 * (j - 1)}" if j > 1 else "v")
        t.store_product(f"u{j}", f"w{j}", times("o", j, "e"))
    t.put("}", "}", "}", "}")


def times(start: str, count: int, step: str) -> str:
    return start if count == 0 else f"{start} + {step}" if count == 1 else f"{start} + {count} * {step}"


def radix_class(t: Writer) -> None:
    t.constant("HALF_ROOT", "Math.sqrt(0.5)")
    t.constant("MINUS_HALF_ROOT", "-Math.sqrt(0.5)")
    for radix in (3, 5):
        for k in range(1, radix // 2 + 1):
            t.constant(f"COS_{k}_{radix}", f"Roots.cos({k}, {radix})")
            t.constant(f"SIN_{k}_{radix}", f"Roots.sin({k}, {radix})")
    t.constant("MINUS_SIN_1_5", "-Roots.sin(1, 5)")
    t.put(f"private {t.name}Radix() {{}}")
    for radix in RADICES:
        if radix > 2:
            radix_pass(t, radix)


# What else goes over rows.


def radix_prime(t: Writer) -> None:
    t.begin_pass("radixPrime", "The same for any odd number, which {@code pass} has the roots of.")
    t.planes("xr", "xi", "yr", "yi")
    t.put(
        f"{t.element}[] roots = pass.roots();",
        "int radix = pass.radix();",
        "int half = radix / 2;",
        f"{t.element}[] kept = new {t.element}[4 * half * {t.lanes}]; // sums and differences, parts apart",
        "int count = pass.count();",
        "int run = pass.stride() * x.lanes();",
        "int d = count * run + PAD;",
        "boolean last = count == 1;",
        "int e = last ? run + PAD : run;",
    )
    t.let("c", t.all("scale"))
    t.put(
        "for (int p = 0; p < count; p++) {",
        "int first = radix * p * run + p / pass.next() * PAD;",
        f"for (int i = from; i < to; i += {t.lanes}) {{",
        "int a = p * run + i;",
        "int o = first + i;",
    )
    t.let_loaded("x0", "a")
    t.let("u0r", "x0r")
    t.let("u0i", "x0i")
    t.put("for (int j = 1; j <= half; j++) {", f"int k = 4 * (j - 1) * {t.lanes};")
    t.let_loaded("y0", "a + j * d")
    t.let_loaded("z0", "a + (radix - j) * d")
    t.let_sum("s", "y0", "z0")
    for at, value in enumerate(("sr", "si", t.sub("y0r", "z0r"), t.sub("y0i", "z0i"))):
        t.store(value, "kept", times("k", at, t.lanes))
    t.put(f"u0r = {bare(t.add('u0r', 'sr'))};", f"u0i = {bare(t.add('u0i', 'si'))};", "}")
    t.put("if (last) {")
    t.store_scaled("u0", "o")
    t.put("} else {")
    t.store_number("u0", "o")
    t.put("}")
    t.put("for (int k = 1; k <= half; k++) {")
    t.let("ar", "x0r")
    t.let("ai", "x0i")
    t.let("br", t.all("0"))
    t.let("bi", t.all("0"))
    t.put("int turn = 0;", "for (int j = 0; j < half; j++) {", "turn += k;", "turn -= turn < radix ? 0 : radix;")
    t.let("cos", t.all("roots[2 * turn]"))
    t.let("sin", t.all("roots[2 * turn + 1]"))
    t.put(f"int q = 4 * j * {t.lanes};")
    for at, (sum_, factor) in enumerate((("ar", "cos"), ("ai", "cos"), ("br", "sin"), ("bi", "sin"))):
        t.put(f"{sum_} = {t.fma(t.load('kept', times('q', at, t.lanes)), factor, sum_)};")
    t.put("}")
    t.let_minus_i("u", "a", "b")
    t.let_plus_i("v", "a", "b")
    t.put("if (last) {")
    t.store_scaled("u", "o + k * e")
    t.store_scaled("v", "o + (radix - k) * e")
    t.put("} else {", "int f = 2 * (p * (radix - 1) + k - 1);", "int g = 2 * (p * (radix - 1) + radix - k - 1);")
    t.let_factor("wf", "f")
    t.let_factor("wg", "g")
    t.store_product("u", "wf", "o + k * e")
    t.store_product("v", "wg", "o + (radix - k) * e")
    t.put("}", "}", "}", "}", "}")


def odd_to_half(t: Writer) -> None:
    t.begin_pass(
        "oddToHalf",
        "The first pass over real rows of an odd count. Of its {@code radix} transforms, of which the last are the "
        "conjugates of others, it leaves the first half.",
    )
    t.planes("xr", "yr", "yi")
    t.put(
        f"{t.element}[] roots = pass.roots();",
        "int radix = pass.radix();",
        "int half = radix / 2;",
        "int run = x.lanes();",
        "int d = pass.count() * run + PAD;",
        "int e = pass.count() == 1 ? run + PAD : run;",
    )
    t.let("c", t.all("scale"))
    t.put(
        "for (int p = 0; p < pass.count(); p++) {",
        "int first = (half + 1) * p * run + p / pass.next() * PAD;",
        f"for (int i = from; i < to; i += {t.lanes}) {{",
        "int at = p * run + i;",
        "int o = first + i;",
    )
    t.let("x0", t.load("xr", "at"))
    t.let("sum", "x0")
    t.put("for (int j = 1; j < radix; j++) {")
    t.put(f"sum = {bare(t.add('sum', t.load('xr', 'at + j * d')))};", "}")
    t.store(t.mul("sum", "c"), "yr", "o")
    t.store(t.all("0"), "yi", "o")
    t.put("for (int k = 1; k <= half; k++) {")
    t.let("a", "x0")
    t.let("b", t.all("0"))
    t.put("int turn = 0;", "for (int j = 1; j <= half; j++) {", "turn += k;", "turn -= turn < radix ? 0 : radix;")
    t.let("s", t.load("xr", "at + j * d"))
    t.let("t", t.load("xr", "at + (radix - j) * d"))
    t.put(f"a = {t.fma(t.add('s', 't'), t.all('roots[2 * turn]'), 'a')};")
    t.put(f"b = {t.fma(t.sub('t', 's'), t.all('roots[2 * turn + 1]'), 'b')};")
    t.put("}", "int f = 2 * (p * (radix - 1) + k - 1);")
    t.let_factor("wf", "f")
    t.let("ur", t.mul("a", "c"))
    t.let("ui", t.mul("b", "c"))
    t.store_product("u", "wf", "o + k * e")
    t.put("}", "}", "}", "}")


def odd_from_half(t: Writer) -> None:
    t.begin_pass(
        "oddFromHalf", "The last pass to real rows of an odd count, from the first half of {@code radix} transforms."
    )
    t.planes("xr", "xi", "yr")
    t.put(
        f"{t.element}[] roots = pass.roots();",
        "int radix = pass.radix();",
        "int half = radix / 2;",
        "int run = x.lanes();",
        "int d = pass.count() == 1 ? run + PAD : run;",
        "int e = pass.count() * run;",
    )
    t.let("c", t.all("scale"))
    t.put(
        "for (int p = 0; p < pass.count(); p++) {",
        "int first = (half + 1) * p * run + p / pass.next() * PAD;",
        f"for (int i = from; i < to; i += {t.lanes}) {{",
        "int at = first + i;",
        "int o = p * run + i;",
    )
    t.let("x0", t.load("xr", "at"))
    t.let("sum", "x0")
    t.put("for (int t = 0; t <= half; t++) {")
    t.let("a", "x0")
    t.let("b", t.all("0"))
    t.put("int turn = 0;", "for (int j = 1; j <= half; j++) {", "turn += t;", "turn -= turn < radix ? 0 : radix;")
    t.put("int f = 2 * (p * (radix - 1) + j - 1);")
    t.let_factor("wf", "f")
    t.let_loaded("z", "at + j * d")
    t.let("r", t.fma("zr", "wfr", t.mul("zi", "wfi")))
    t.let("s", t.fma("zi", "wfr", t.mul("zr", "wfm")))
    t.put(f"a = {t.fma(t.add('r', 'r'), t.all('roots[2 * turn]'), 'a')};")
    t.put(f"b = {t.fma(t.add('s', 's'), t.all('roots[2 * turn + 1]'), 'b')};")
    t.put("}")
    t.store(t.mul(t.sub("a", "b"), "c"), "yr", "o + t * e")
    t.put("if (t > 0) {")
    t.store(t.mul(t.add("a", "b"), "c"), "yr", "o + (radix - t) * e")
    t.put("}", "}", "}", "}", "}")


def rows_method(t: Writer, name: str) -> None:
    array = f"{t.element}[]"
    t.put(
        "@Override",
        f"public int {name}({array} w, int rows, int from, Rows<{array}> x, Rows<{array}> y) {{",
    )
    t.planes("xr", "xi", "yr", "yi")
    t.put("int to = to(from, x.lanes());")


def multiply(t: Writer) -> None:
    rows_method(t, "multiply")
    t.put("for (int row = 0; row < rows; row++) {")
    t.let_factor("w0", "2 * row")
    t.put(f"for (int i = from; i < to; i += {t.lanes}) {{", "int a = x.at(row, PAD) + i;", "int o = y.at(row, PAD) + i;")
    t.let_loaded("a", "a")
    t.store_product("a", "w0", "o")
    t.put("}", "}", "return to;", "}")


def pick(t: Writer) -> None:
    array = f"{t.element}[]"
    t.put("@Override", f"public int pick(int[] rows, int from, Rows<{array}> x, Rows<{array}> y) {{")
    t.planes("xr", "xi", "yr", "yi")
    t.put(
        "int to = to(from, x.lanes());",
        "for (int row = 0; row < rows.length; row++) {",
        "boolean conjugate = rows[row] < 0;",
        "int a = x.at(conjugate ? ~rows[row] : rows[row], PAD);",
        "int o = y.at(row, PAD);",
        f"for (int i = from; i < to; i += {t.lanes}) {{",
    )
    t.let_loaded("a", "a + i")
    t.store("ar", "yr", "o + i")
    t.put("if (conjugate) {")
    t.store(t.neg("ai"), "yi", "o + i")
    t.put("} else {")
    t.store("ai", "yi", "o + i")
    t.put("}", "}", "}", "return to;", "}")


def half_ends(t: Writer, name: str) -> None:
    """A method over the pairs of rows k and rows - k, k from 1 to rows / 2."""
    rows_method(t, name)
    t.put(f"for (int i = from; i < to; i += {t.lanes}) {{")
    if name == "toHalf":
        t.put("int a = x.at(0, PAD) + i;")
        t.let_loaded("a", "a")
        for sign, at in (("add", "0"), ("sub", "rows")):
            value = (t.add if sign == "add" else t.sub)("ar", "ai")
            t.store(t.mul(value, t.all("2")), "yr", f"y.at({at}, PAD) + i")
            t.store(t.all("0"), "yi", f"y.at({at}, PAD) + i")
    else:
        t.let("ar", t.load("xr", "x.at(0, PAD) + i"))
        t.let("br", t.load("xr", "x.at(rows, PAD) + i"))
        t.store(t.add("ar", "br"), "yr", "y.at(0, PAD) + i")
        t.store(t.sub("ar", "br"), "yi", "y.at(0, PAD) + i")
    t.put("}", "for (int k = 1; k <= rows / 2; k++) {")
    t.let_factor("w0", "2 * k")
    t.let("w0n", t.all("-w[2 * k]"))
    t.put(
        "int a = x.at(k, PAD);",
        "int b = x.at(rows - k, PAD);",
        "int o = y.at(k, PAD);",
        "int q = y.at(rows - k, PAD);",
        f"for (int i = from; i < to; i += {t.lanes}) {{",
    )
    t.let_loaded("a", "a + i")
    t.let_loaded("b", "b + i")
    t.let("sr", t.add("ar", "br"))
    t.let("si", t.sub("ai", "bi"))
    t.let("dr", t.sub("ar", "br"))
    t.let("di", t.add("ai", "bi"))
    t.let("mi", t.sub("bi", "ai"))
    # s + t and the conjugate of s - t, where t is -i (cos - i sin) d or i (cos + i sin) d
    if name == "toHalf":
        (dr_r, di_r), (dr_i, di_i) = ("w0i", "w0r"), ("w0n", "w0i")
    else:
        (dr_r, di_r), (dr_i, di_i) = ("w0i", "w0n"), ("w0r", "w0i")
    minus = {"w0i": "w0m", "w0r": "w0n", "w0n": "w0r"}
    t.store(t.fma("di", di_r, t.fma("dr", dr_r, "sr")), "yr", "o + i")
    t.store(t.fma("di", di_i, t.fma("dr", dr_i, "si")), "yi", "o + i")
    t.store(t.fma("di", minus[di_r], t.fma("dr", minus[dr_r], "sr")), "yr", "q + i")
    t.store(t.fma("di", di_i, t.fma("dr", dr_i, "mi")), "yi", "q + i")
    t.put("}", "}", "return to;", "}")


def dispatch(t: Writer) -> None:
    array = f"{t.element}[]"
    cast = "scale" if t.element == "double" else "(float) scale"
    t.put(
        "private static int to(int from, int numbers) {",
        f"return numbers - (numbers - from) % {t.lanes};" if t.vectors else "return numbers;",
        "}",
        "@Override",
        f"public int pass(RadixPass<{array}> pass, int from, double scale, Rows<{array}> x, Rows<{array}> y) {{",
        "int to = to(from, pass.stride() * x.lanes());",
        f"{t.element} c = {cast};",
        "if (to > from) {",
        "switch (pass.radix()) {",
    )
    for radix in RADICES:
        where = "" if radix == 2 else f"{t.name}Radix."
        t.put(f"case {radix} -> {where}radix{radix}(pass, from, to, c, x, y);")
    t.put("default -> radixPrime(pass, from, to, c, x, y);", "}", "}", "return to;", "}")
    for name in ("oddToHalf", "oddFromHalf"):
        t.put(
            "@Override",
            f"public int {name}(RadixPass<{array}> pass, int from, double scale, Rows<{array}> x, Rows<{array}> y) {{",
            "int to = to(from, x.lanes());",
            f"{name}(pass, from, to, {cast}, x, y);",
            "return to;",
            "}",
        )


def rows_class(t: Writer) -> None:
    dispatch(t)
    radix_pass(t, 2)
    radix_prime(t)
    multiply(t)
    pick(t)
    half_ends(t, "toHalf")
    half_ends(t, "fromHalf")
    odd_to_half(t)
    odd_from_half(t)


def main() -> None:
    for element in ("float", "double"):
        for vectors in (True, False):
            t = Writer(element, vectors)
            how = f"on vectors of {element}s" if vectors else f"one {element} at a time"
            t.file(f"{t.name}Radix", [], f"The radix passes of a transform, {how}.", "", radix_class)
            t.file(
                f"{t.name}Rows",
                [],
                f"What {{@link FourierArithmetic}} says, {how}.",
                f" implements FourierArithmetic<{element}[]>",
                rows_class,
            )


if __name__ == "__main__":
    main()
