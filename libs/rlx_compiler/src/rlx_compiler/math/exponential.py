"""exp, log, tanh and erf. Largest errors, in units in the last place (ulp), with a fused multiply-add:

| | float32 | float64 |
|---|---|---|
| exp | 1.1 | 1.1 |
| log | 1.0 | 1.0 |
| tanh | 2 | 3 |
| erf | 1.5 | 2 |
"""

from __future__ import annotations

from typing import Final

from rlx_base.dtypes import BOOL, DTYPES, FLOAT32, DType
from rlx_compiler.loops.ir import Apply, Bitcast, Cast, Expr, Fma
from rlx_compiler.math.build import (
    absolute,
    add,
    copysign,
    div,
    equal,
    greater,
    less,
    like,
    mantissa_bits,
    mul,
    neg,
    polynomial,
    power_of_two,
    select,
    shl,
    shr,
    signed,
    sub,
)

__all__ = ["erf", "exp", "log", "nearest", "split", "tanh"]

_LOG2_E: Final = 1.4426950408889634
# ln 2 in two parts: n · high is exact for every exponent n.
_LN2: Final = {
    "float32": (0.693359375, -2.12194440054690583e-4),
    "float64": (6.93147180369123816490e-01, 1.90821492927058770002e-10),
}
# e^r on |r| ≤ ½ ln 2, highest power first, after 1 + r: the rest divided by r².
_EXP: Final = {
    "float32": (1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1),
    "float64": (
        1.6059043836821613e-10,
        2.0876756987868099e-09,
        2.5052108385441719e-08,
        2.7557319223985891e-07,
        2.7557319223985893e-06,
        2.4801587301587302e-05,
        1.9841269841269841e-04,
        1.3888888888888889e-03,
        8.3333333333333332e-03,
        4.1666666666666664e-02,
        1.6666666666666666e-01,
        0.5,
    ),
}
# Beyond these, e^x is 0 or infinite.
_EXP_RANGE: Final = {"float32": (-104.0, 89.0), "float64": (-746.0, 710.0)}

# log((1 + s) ÷ (1 − s)) = 2s + s·R(s²): the coefficients of R, highest power first (after fdlibm and musl).
_LOG: Final = {
    "float32": (0.24279078841, 0.28498786688, 0.40000972152, 0.66666662693),
    "float64": (
        1.479819860511658591e-01,
        1.531383769920937332e-01,
        1.818357216161805012e-01,
        2.222219843214978396e-01,
        2.857142874366239149e-01,
        3.999999999940941908e-01,
        6.666666666666735130e-01,
    ),
}


def exp(x: Expr) -> Expr:
    """e^x = 2ⁿ · e^r with n = round(x ÷ ln 2); 2ⁿ in two factors, so that subnormal results round once."""
    low, high = _EXP_RANGE[x.dtype.name]
    # Written so that NaN passes through. What is 0 is not computed: scaled that far down, it would take processors
    # a hundred cycles, and a softmax over masked places is full of it.
    vanishes = less(x, low)
    x = select(greater(x, high), high, x)
    x = select(vanishes, 0.0, x)
    n = Apply("nearest", (mul(x, _LOG2_E),), x.dtype)
    ln2_high, ln2_low = _LN2[x.dtype.name]
    r = Fma(n, like(-ln2_low, x), Fma(n, like(-ln2_high, x), x))
    tail = mul(mul(r, r), polynomial(r, _EXP[x.dtype.name]))
    return select(vanishes, 0.0, _scaled(add(add(tail, r), 1.0), Cast(n, _integer(x.dtype))))


def nearest(x: Expr) -> Expr:
    """The nearest whole number of a float well below 2^mantissa, by adding and taking away a large one."""
    large = 1.5 * 2.0 ** mantissa_bits(x.dtype)
    return sub(add(x, large), large)


def _integer(dtype: DType) -> DType:
    return DTYPES[f"int{dtype.bits}"]


def _scaled(x: Expr, n: Expr) -> Expr:
    """x · 2ⁿ, for n within twice the exponents of normal numbers."""
    half = shr(n, 1)
    return mul(mul(x, power_of_two(half, x.dtype)), power_of_two(sub(n, half), x.dtype))


def split(x: Expr) -> tuple[Expr, Expr]:
    """x = m · 2ᵏ with √½ ≤ m < √2, for positive finite x also below the normal numbers; k as a float."""
    bits = mantissa_bits(x.dtype)
    tiny = less(x, 2.0 ** (2 - 2 ** (x.dtype.bits - 2 - bits)))
    number = signed(select(tiny, mul(x, 2.0**bits), x))
    root_half = 0x3F3504F3 if x.dtype == FLOAT32 else 0x3FE6A09E667F3BCD
    k = shr(sub(number, root_half), bits)
    m = Bitcast(sub(number, shl(k, bits)), x.dtype)
    return m, sub(Cast(k, x.dtype), select(tiny, float(bits), like(0.0, x)))


def log(x: Expr) -> Expr:
    """ln x: ln of the mantissa by an odd series in s = f ÷ (2 + f), f = m − 1, and k · ln 2 in two parts."""
    m, k = split(x)
    f = sub(m, 1.0)
    s = div(f, add(f, 2.0))
    z = mul(s, s)
    r = mul(z, polynomial(z, _LOG[x.dtype.name]))
    half_square = mul(mul(f, f), 0.5)
    ln2_high, ln2_low = _LN2[x.dtype.name]
    small = Fma(s, add(half_square, r), mul(k, ln2_low))
    result: Expr = Fma(k, like(ln2_high, x), sub(f, sub(half_square, small)))
    result = select(equal(x, float("inf")), float("inf"), result)
    result = select(equal(x, 0.0), float("-inf"), result)
    # Negative, and not NaN, which the bits above would have turned into a number.
    return select(Apply("ge", (x, like(0.0, x)), BOOL), result, float("nan"))


# tanh x = x + x·s·P(s) ÷ Q(s), s = x², for small x (after Cephes).
_TANH: Final = {
    "float32": ((-5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1, -3.33332819422e-1), None),
    "float64": (
        (-9.64399179425052238628e-1, -9.92877231001918586564e1, -1.61468768441708447952e3),
        (1.0, 1.12811678491632931402e2, 2.23548839060100448583e3, 4.84406305325125486048e3),
    ),
}


def tanh(x: Expr) -> Expr:
    """A rational function near 0, and 1 − 2 ÷ (e^2|x| + 1) with the sign of x elsewhere."""
    magnitude = absolute(x)
    square = mul(x, x)
    above, below = _TANH[x.dtype.name]
    series = polynomial(square, above)
    if below is not None:
        series = div(series, polynomial(square, below))
    near = Fma(mul(x, square), series, x)
    far = sub(like(1.0, x), div(like(2.0, x), add(exp(add(magnitude, magnitude)), 1.0)))
    return select(less(magnitude, 0.625), near, copysign(far, x))


def erf(x: Expr) -> Expr:
    """The error function 2 ÷ √π · ∫₀ˣ e^−t² dt."""
    return _erf32(x) if x.dtype == FLOAT32 else _erf64(x)


def _erf32(x: Expr) -> Expr:
    """x + x·P(x²) near 0; 1 − e^Q(|x|) elsewhere, which is 1 where |x| > 4."""
    square = mul(x, x)
    near = Fma(
        polynomial(
            square, (-5.96761703e-4, 4.99119423e-3, -2.67681349e-2, 1.12819925e-1, -3.76125336e-1, 1.28379166e-1)
        ),
        x,
        x,
    )
    t = absolute(x)
    capped = select(greater(t, 4.0), 4.0, t)
    q = polynomial(
        capped,
        (
            -1.72853470e-5,
            3.83197126e-4,
            -3.88396438e-3,
            2.42546219e-2,
            -1.06777877e-1,
            -6.34846687e-1,
            -1.28717512e-1,
            0.0,
        ),
    )
    far = copysign(sub(like(1.0, x), exp(sub(q, capped))), x)
    return select(greater(t, 0.927734375), far, near)


_ERF_NEAR: Final = (
    (
        -2.37630166566501626084e-05,
        -5.77027029648944159157e-03,
        -2.84817495755985104766e-02,
        -3.25042107247001499370e-01,
        1.28379167095512558561e-01,
    ),
    (
        -3.96022827877536812320e-06,
        1.32494738004321644526e-04,
        5.08130628187576562776e-03,
        6.50222499887672944485e-02,
        3.97917223959155352819e-01,
        1.0,
    ),
)
_ERF_ONE: Final = (
    (
        -2.16637559486879084300e-03,
        3.54783043256182359371e-02,
        -1.10894694282396677476e-01,
        3.18346619901161753674e-01,
        -3.72207876035701323847e-01,
        4.14856118683748331666e-01,
        -2.36211856075265944077e-03,
    ),
    (
        1.19844998467991074170e-02,
        1.36370839120290507362e-02,
        1.26171219808761642112e-01,
        7.18286544141962662868e-02,
        5.40397917702171048937e-01,
        1.06420880400844228286e-01,
        1.0,
    ),
)
_ERF_MIDDLE: Final = (
    (
        -9.81432934416914548592e00,
        -8.12874355063065934246e01,
        -1.84605092906711035994e02,
        -1.62396669462573470355e02,
        -6.23753324503260060396e01,
        -1.05586262253232909814e01,
        -6.93858572707181764372e-01,
        -9.86494403484714822705e-03,
    ),
    (
        -6.04244152148580987438e-02,
        6.57024977031928170135e00,
        1.08635005541779435134e02,
        4.29008140027567833386e02,
        6.45387271733267880336e02,
        4.34565877475229228821e02,
        1.37657754143519042600e02,
        1.96512716674392571292e01,
        1.0,
    ),
)
_ERF_FAR: Final = (
    (
        -4.83519191608651397019e02,
        -1.02509513161107724954e03,
        -6.37566443368389627722e02,
        -1.60636384855821916062e02,
        -1.77579549177547519889e01,
        -7.99283237680523006574e-01,
        -9.86494292470009928597e-03,
    ),
    (
        -2.24409524465858183362e01,
        4.74528541206955367215e02,
        2.55305040643316442583e03,
        3.19985821950859553908e03,
        1.53672958608443695994e03,
        3.25792512996573918826e02,
        3.03380607434824582924e01,
        1.0,
    ),
)
_ERF_AT_ONE: Final = 8.45062911510467529297e-01


def _erf64(x: Expr) -> Expr:
    """Rational functions on four intervals (after fdlibm), all computed and the right one chosen."""
    t = absolute(x)
    square = mul(x, x)
    near = Fma(_ratio(square, _ERF_NEAR), x, x)
    one = add(_ratio(sub(t, 1.0), _ERF_ONE), _ERF_AT_ONE)
    capped = select(greater(t, 6.0), 6.0, t)
    w = div(like(1.0, x), mul(capped, capped))
    inverse = select(less(t, 1.0 / 0.35), _ratio(w, _ERF_MIDDLE), _ratio(w, _ERF_FAR))
    complement = div(exp(add(Fma(capped, neg(capped), inverse), -0.5625)), capped)
    far = sub(like(1.0, x), complement)
    above = copysign(select(less(t, 1.25), one, far), x)
    result = select(less(t, 0.84375), near, above)
    return select(Apply("is_nan", (x,), BOOL), x, result)


def _ratio(x: Expr, coefficients: tuple[tuple[float, ...], tuple[float, ...]]) -> Expr:
    above, below = coefficients
    return div(polynomial(x, above), polynomial(x, below))
