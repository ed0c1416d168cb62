"""Formulas of elementwise functions that tilespark's SQL expressions do not have, made of those that they have.

A formula is text in which ``v`` is the element; ``re`` and ``im`` stand for the parts of a complex one. The formulas keep
the sign of a zero, and neither overflow nor cancel where the result itself does not.
"""

from __future__ import annotations

_LN2, _LN10 = "0.6931471805599453", "2.302585092994046"


def _odd(positive: str, t: str) -> str:
    """An odd function of ``t`` from its formula of ``{0}``, which holds from -0 up."""
    return f"if({t} < 0, -({positive.format(f'(-({t}))')}), {positive.format(t)})"


def negative(t: str) -> str:
    """Whether ``t`` has a minus sign, of zero too; false for NaN."""
    return f"({t} < 0 OR 1 / {t} < 0)"


def _with_sign(size: str, of: str) -> str:
    return f"if({negative(of)}, -({size}), {size})"


def _sinh(t: str) -> str:
    # exp(t / 2) twice, since exp(t) overflows before sinh(t) does.
    small = f"(expm1({t}) + expm1({t}) / (expm1({t}) + 1)) / 2"
    return f"if(abs({t}) < 1, {small}, 0.5 * exp({t} / 2) * exp({t} / 2) - 0.5 * exp(-{t} / 2) * exp(-{t} / 2))"


def _cosh(t: str) -> str:
    return f"(0.5 * exp({t} / 2) * exp({t} / 2) + 0.5 * exp(-{t} / 2) * exp(-{t} / 2))"


def _asinh(t: str) -> str:
    # Beyond 1e8 the square may overflow, and log(2 t) is exact.
    return _odd(f"if({{0}} < 1e8, log1p({{0}} * (1 + {{0}} / (1 + sqrt(1 + {{0}} * {{0}})))), log({{0}}) + {_LN2})", t)


def _acosh(t: str) -> str:
    return f"if({t} < 1, nan(), if({t} < 1e8, log1p({t} - 1 + sqrt(({t} - 1) * ({t} + 1))), log({t}) + {_LN2}))"


def _shift(step: str, bits: int) -> str:
    """``a`` shifted by ``b`` in factors of 2, 4, 16...: the bits of ``b``; ``step`` is the operator of a factor."""
    return "a" + "".join(
        f" {step} if(b div {1 << bit} % 2 = 1, {1 << (1 << bit)}, 1)" for bit in range(bits.bit_length()) if 1 << bit < bits
    )


def of_integers(name: str, bits: int, signed: bool) -> str | None:
    """A formula of two integer operands ``a`` and ``b``, which have the type of the result; None if it is that of floats.

    Args:
        name: the name of numpy's function.
        bits: the bits of the result, whose column has more of them if it has no sign.
        signed: whether the result has a sign.
    """
    if name.startswith("bitwise"):
        # An integer literal must fit the operands' type, which that of the bit of the sign would not.
        both = " + ".join(f"(a div {1 << bit} % 2) * (b div {1 << bit} % 2) * {1 << bit}" for bit in range(bits - signed))
        if signed:
            both = f"({both} + if(a < 0 AND b < 0, -{(1 << bits - 1) - 1} - 1, 0))"
        return {"bitwise_and": both, "bitwise_or": f"a + b - ({both})", "bitwise_xor": f"a + b - 2 * ({both})"}[name]
    if name == "left_shift":
        return f"if(b >= 0 AND b < {bits}, {_shift('*', bits)}, 0)"
    if name == "right_shift":
        return f"if(b >= 0 AND b < {bits}, {_shift('div', bits)}, if(a < 0, -1, 0))"
    if name == "power":  # a raised to each power of 2 that the exponent has a bit for
        return " * ".join(f"if(b div {1 << bit} % 2 = 1, {_power_of_two(bit)}, 1)" for bit in range(bits - signed))
    return None


def _power_of_two(bit: int) -> str:
    """``a`` raised to ``2**bit``, in literal exponents of at most 64."""
    base = "a"
    for _ in range(bit // 6):
        base = f"pow({base}, 64)"
    return f"pow({base}, {1 << bit % 6})" if bit % 6 else base


#: The power of complex operands.
COMPLEX_POWER = (
    "if(b = 0, complex(1, 0), if(a = 0, complex(0, 0), complex("
    "exp(real(b) * log(abs(a)) - imag(b) * arg(a)) * cos(imag(b) * log(abs(a)) + real(b) * arg(a)), "
    "exp(real(b) * log(abs(a)) - imag(b) * arg(a)) * sin(imag(b) * log(abs(a)) + real(b) * arg(a)))))"
)


#: Formulas of real elements, by the names of numpy's functions.
REAL = {
    "arccos": "atan2(sqrt((1 - v) * (1 + v)), v)",
    "arccosh": _acosh("v"),
    "arcsin": "atan2(v, sqrt((1 - v) * (1 + v)))",
    "arcsinh": _asinh("v"),
    "arctan": "atan2(v, 1)",
    "arctanh": _odd("log1p(2 * {0} / (1 - {0})) / 2", "v"),
    "cosh": _cosh("v"),
    "isfinite": "v - v = 0",
    "isinf": "abs(v) = inf()",
    "log10": f"log(v) / {_LN10}",
    "log2": f"log(v) / {_LN2}",
    "positive": "v",
    "reciprocal": "1 / v",
    "signbit": negative("v"),
    "sinh": _sinh("v"),
    "square": "v * v",
    "trunc": "if(v < 0, ceil(v), floor(v))",
}

#: Formulas of two real operands.
REAL_PAIRS = {
    "copysign": f"if({negative('b')}, -abs(a), abs(a))",
    "logaddexp": f"if(a = b, a + {_LN2}, greatest(a, b) + log1p(exp(-abs(a - b))))",
}


def _root(re: str, im: str) -> tuple[str, str]:
    """The parts of a complex square root."""
    large = f"sqrt((hypot({re}, {im}) + abs({re})) / 2)"  # the part without cancellation
    small = f"abs({im}) / (2 * {large})"
    size = f"if({re} >= 0, {small}, {large})"
    zero = f"{re} = 0 AND {im} = 0"
    return f"if({zero}, 0, if({re} >= 0, {large}, {small}))", f"if({zero}, {im}, {_with_sign(size, im)})"


def _complex(re: str, im: str) -> str:
    return f"complex({re}, {im})"


def _scaled_log(by: str) -> str:
    return f"complex(log(hypot(re, im)) / {by}, atan2(im, re) / {by})"


# The inverse functions are those of W. Kahan, Branch Cuts for Complex Elementary Functions (1987), from the roots of 1 - v
# and 1 + v. They take two steps, since the argument of asinh is long and asinh repeats it.
def _arcsin(re: str, im: str) -> tuple[str, str]:
    (a, b), (c, d) = _root(f"(1 - {re})", f"(-{im})"), _root(f"(1 + {re})", im)
    return f"atan2({re}, ({a}) * ({c}) - ({b}) * ({d}))", f"({a}) * ({d}) - ({b}) * ({c})"


def _arccos() -> tuple[str, str]:
    (a, b), (c, d) = _root("(1 - re)", "(-im)"), _root("(1 + re)", "im")
    return _complex(f"2 * atan2({a}, {c})", f"({c}) * ({b}) - ({d}) * ({a})"), _complex("re", _asinh("im"))


def _arccosh() -> tuple[str, str]:
    (a, b), (c, d) = _root("(re - 1)", "im"), _root("(re + 1)", "im")
    return _complex(f"({a}) * ({c}) + ({b}) * ({d})", f"2 * atan2({b}, {c})"), _complex(_asinh("re"), "im")


def _arctanh(re: str, im: str) -> tuple[str, str]:
    # Both terms are divided by 1 + |v|, so that no square overflows.
    by = f"(1 + hypot({re}, {im}))"
    size = f"abs({re})"
    log = f"log1p(4 * ({size} / {by}) / ((1 - {size}) / {by} * (1 - {size}) + {im} / {by} * {im})) / 4"
    angle = f"atan2(2 * ({im} / {by}), (1 - {re}) / {by} * (1 + {re}) - {im} / {by} * {im}) / 2"
    return _with_sign(log, re), angle


def _arcsinh() -> tuple[str, str]:
    angle, size = _arcsin("im", "(-re)")  # asinh(v) = i asin(-i v), and -i v is (im, -re)
    return _complex(size, angle), _complex(f"-({_asinh('re')})", "im")


def _arctan() -> str:
    re, im = _arctanh("(-im)", "re")  # atan(v) = -i atanh(i v)
    return _complex(im, f"-({re})")


def _tanh(re: str, im: str) -> tuple[str, str]:
    below = f"(1 + tanh({re}) * tanh({re}) * tan({im}) * tan({im}))"
    return (
        f"tanh({re}) * (1 + tan({im}) * tan({im})) / {below}",
        f"tan({im}) * (1 - tanh({re}) * tanh({re})) / {below}",
    )


def _tan() -> str:
    re, im = _tanh("(-im)", "re")  # tan(v) = -i tanh(i v)
    return _complex(im, f"-({re})")


#: Formulas of complex elements; a formula of two steps computes the second from the result of the first.
COMPLEX: dict[str, str | tuple[str, str]] = {
    "arccos": _arccos(),
    "arccosh": _arccosh(),
    "arcsin": (_complex(*_arcsin("re", "im")), _complex("re", _asinh("im"))),
    "arcsinh": _arcsinh(),
    "arctan": _arctan(),
    "arctanh": _complex(*_arctanh("re", "im")),
    "cos": _complex(f"cos(re) * {_cosh('im')}", f"-sin(re) * {_sinh('im')}"),
    "cosh": _complex(f"{_cosh('re')} * cos(im)", f"{_sinh('re')} * sin(im)"),
    "exp": "complex(exp(re) * cos(im), exp(re) * sin(im))",
    "expm1": "complex(expm1(re) * cos(im) - 2 * sin(im / 2) * sin(im / 2), exp(re) * sin(im))",
    "isfinite": "re - re = 0 AND im - im = 0",
    "isinf": "abs(re) = inf() OR abs(im) = inf()",
    "log": "complex(log(hypot(re, im)), atan2(im, re))",
    "log10": _scaled_log(_LN10),
    # Near 0 the logarithm of |1 + v| cancels, near -1 the sum does.
    "log1p": "complex(if(hypot(1 + re, im) < 0.5 OR hypot(re, im) > 2, log(hypot(1 + re, im)),"
    " log1p(re * (2 + re) + im * im) / 2), atan2(im, 1 + re))",
    "log2": _scaled_log(_LN2),
    "rint": "complex(round(re), round(im))",
    "sign": "if(v = 0, complex(0, 0), v / abs(v))",
    "sin": _complex(f"sin(re) * {_cosh('im')}", f"cos(re) * {_sinh('im')}"),
    "sinh": _complex(f"{_sinh('re')} * cos(im)", f"{_cosh('re')} * sin(im)"),
    "sqrt": _complex(*_root("re", "im")),
    "tan": _tan(),
    "tanh": _complex(*_tanh("re", "im")),
}
