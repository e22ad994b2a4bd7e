"""Personal data in texts: e-mail, phone, identity and account numbers, addresses of machines.

Formats are those of China and international ones. What has a check digit must pass it, what has none must look like
nothing else: order numbers, codes, versions, dates, prices, hotlines and private addresses stay. Names and streets are
not looked for.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from ipaddress import ip_address

import polars as pl

_WIDE = {code + 0xFEE0: code for code in range(0x21, 0x7F)} | {0x3000: 0x20, 0x2010: 0x2D, 0x2011: 0x2D, 0x2013: 0x2D}
"""Full-width characters, and dashes, as those of ASCII: one character for one."""
_CANDIDATE = (
    r"[@＠]|[0-9０-９]{6}|(?:[0-9０-９][-\s.()（）：:‐‑–]{0,2}){7}|(?:[0-9０-９]{1,3}[.．]){3}[0-9０-９]|"
    r"[2-3２-３][0-9a-fA-F０-９]{3}[:：]"
)
"""What any personal datum holds; most texts hold none of it."""
_CONTEXT = 24
"""Characters before a number that may say what it is."""
_OTHER_NUMBER = re.compile(
    r"(?:订单|运单|工单|单号|编号|型号|货号|版本|流水|序列|快递|错误|代码|条码|金额|价格|总价|"
    r"\b(?:order|invoice|ticket|tracking|sku|serial|version|ver|build|error|code|issue|isbn|ean|part|model|case|"
    r"price|total|release|firmware|driver|sn|pn|v))"
    r"[\s_-]*(?:number|num|no\.?|号码?|id|名)?[\s:：#=是为]*$|[¥￥$€£#]\s*$",
    re.IGNORECASE,
)
_UNIT = re.compile(r"\s*(?:元|块|美元|欧元|usd|cny|rmb|eur|万|亿|%|次|字节|bytes|ms\b|kg\b)", re.IGNORECASE)
_PHONE_WORD = re.compile(
    r"(?:电话|手机|联系方式|联系号码|联系我|致电|拨打|传真|短信|座机|qq|\b(?:tel|telephone|phone|mobile|cell|fax|"
    r"whatsapp|call|text|sms|dial)\b|\b(?:tel|phone|mobile))(?:号码?|number|no\.?|me|at|is|us|my|[\s:：=是为.+(-])*$",
    re.IGNORECASE,
)
_IN_CODE = re.compile(r"[A-Za-z0-9_]$|\d[.,]$|\b[A-Z0-9]{1,12}[-_]$|(?:://|www\.)\S*[/=]$")
"""The end of what precedes a number that is part of a code, of a decimal or of an address of the web."""
_GOES_ON = re.compile(r"[A-Za-z0-9_@]|[.,]\d|-[A-Za-z]")


@dataclass(frozen=True)
class _Rule:
    """A kind of personal datum.

    token    what takes its place
    accepts  whether a match is one: the match, what precedes it, and what follows
    """

    token: str
    pattern: re.Pattern[str]
    accepts: Callable[[str, str, str], bool]


def mask(text: str) -> str:
    """A text with personal data replaced by what they are: [email], [phone], [id], [passport], [card], [iban], [ip].

    Masking a masked text changes nothing.

    >>> mask("我叫王芳，手机138 0013 8000，邮箱 wang.fang@example.cn，订单号 13800138000")
    '我叫王芳，手机[phone]，邮箱 [email]，订单号 13800138000'
    >>> mask("Call +1 (415) 555-2671, version 10.0.19.1, error 0x80070005")
    'Call [phone], version 10.0.19.1, error 0x80070005'
    """
    while spans := _spans(text):
        pieces, end = list[str](), 0
        for start, stop, token in spans:
            pieces += text[end:start], token
            end = stop
        text = "".join([*pieces, text[end:]])
    return text


def masked(texts: pl.Series) -> pl.Series:
    """The same of a column of texts; null stays null.  Most rows are only searched for what a datum would hold.

    >>> masked(pl.Series(["opening hours", "a@b.org", None])).to_list()
    ['opening hours', '[email]', None]
    """
    candidates = texts.filter(texts.str.contains(_CANDIDATE)).unique()
    changed = {text: new for text in candidates if (new := mask(text)) != text}
    return texts.replace(changed) if changed else texts


def _spans(text: str) -> list[tuple[int, int, str]]:
    """Ranges of personal data in a text, in their order, with what takes the place of each; earlier rules go first."""
    folded = text if text.isascii() else text.translate(_WIDE)
    taken: list[tuple[int, int, str]] = []
    for rule in _RULES:
        for match in rule.pattern.finditer(folded):
            start, end = match.span(match.lastindex or 0)
            before, after = folded[max(0, start - _CONTEXT) : start], folded[end : end + _CONTEXT]
            is_free = all(end <= first or last <= start for first, last, _ in taken)
            if is_free and rule.accepts(folded[start:end], before, after):
                taken.append((start, end, rule.token))
    return sorted(taken)


def _always(value: str, before: str, after: str) -> bool:
    return True


def _is_email(value: str, before: str, after: str) -> bool:
    return not value.startswith("git@") and not before.endswith("://")


def _is_identity(value: str, before: str, after: str) -> bool:
    """Resident identity of China: a day of birth, and the check digit of ISO 7064, MOD 11-2 (GB 11643)."""
    weighted = sum(int(digit) * (2 ** (17 - place) % 11) for place, digit in enumerate(value[:17]))
    try:
        born = date(int(value[6:10]), int(value[10:12]), int(value[12:14]))
    except ValueError:
        return False
    return born.year >= 1850 and "10X98765432"[weighted % 11] == value[17].upper()


def _is_card(value: str, before: str, after: str) -> bool:
    """Bank card: prefix and length of a network, and the check digit of Luhn (ISO/IEC 7812)."""
    digits = re.sub(r"\D", "", value)
    doubled = (int(digit) * (1 + place % 2) for place, digit in enumerate(reversed(digits)))
    is_known = _CARD.fullmatch(digits) is not None
    return is_known and sum(n - 9 * (n > 9) for n in doubled) % 10 == 0 and not _is_other(before, after)


def _is_iban(value: str, before: str, after: str) -> bool:
    """Bank account by ISO 13616: its check digits leave 1 of 97."""
    account = value.replace(" ", "")
    number = "".join(str(int(character, 36)) for character in account[4:] + account[:4])
    return 15 <= len(account) <= 34 and int(number) % 97 == 1


def _is_address(value: str, before: str, after: str) -> bool:
    """Address of a machine in the public network."""
    try:
        return ip_address(value.rstrip(":.")).is_global and _OTHER_NUMBER.search(before) is None
    except ValueError:
        return False


def _is_security_number(value: str, before: str, after: str) -> bool:
    area, group, serial = value.split("-")
    is_valid = area not in ("000", "666") and area < "900" and group != "00" and serial != "0000"
    return is_valid and not _is_other(before, after)


def _is_phone(value: str, before: str, after: str) -> bool:
    return _PHONE_WORD.search(before) is not None or not _is_other(before, after)


def _is_named_phone(value: str, before: str, after: str) -> bool:
    n = sum(character.isdigit() for character in value)
    is_date = re.fullmatch(r"(?:19|20)\d\d[-. ]?\d\d[-. ]?\d\d", value) is not None
    hotline = re.match(r"[48]00", value) is not None
    return 7 <= n <= 15 and not is_date and not hotline and _PHONE_WORD.search(before) is not None


def _is_other(before: str, after: str) -> bool:
    """True if what is around a number says that it is an order, a code, a version, a price, or part of a word."""
    is_part = _IN_CODE.search(before) is not None or _GOES_ON.match(after) is not None
    return is_part or _OTHER_NUMBER.search(before) is not None or _UNIT.match(after) is not None


_CARD = re.compile(
    r"4\d{15}|4\d{18}|5[1-5]\d{14}|2(?:22[1-9]|2[3-9]\d|[3-6]\d\d|7[01]\d|720)\d{12}|3[47]\d{13}|3[068]\d{12}|35\d{14}|"
    r"6(?:011|5\d\d)\d{12}|62\d{14,17}"
)
_BYTE = r"(?:25[0-5]|2[0-4]\d|1?\d?\d)"
_AREA = r"0(?:10|2\d|[3-9]\d{2})"
_TOLL_FREE = r"(?!400|8(?:00|88|77|66|55|44|33))"
_IS = r"\s*(?:号码?|\bnumber|\bno\b\.?)?(?:[\s:：#是为]|\bis\b)*"


def _rule(token: str, pattern: str, accepts: Callable[[str, str, str], bool]) -> _Rule:
    """A rule whose pattern takes ASCII for words; what is replaced is its group, or all of it."""
    return _Rule(token, re.compile(pattern, re.ASCII), accepts)


_RULES = (
    _rule(
        "[email]",
        r"(?<![\w.%+-])[\w%+][\w.%+'-]{0,63}@(?:[A-Za-z0-9][A-Za-z0-9-]{0,62}\.){1,8}[A-Za-z]{2,24}(?![A-Za-z0-9])",
        _is_email,
    ),
    _rule("[iban]", r"(?i)(?<!\w)[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?!\w)", _is_iban),
    _rule("[id]", r"(?<!\w)[1-8]\d{16}[0-9Xx](?!\w)", _is_identity),
    _rule("[id]", rf"(?i:身份证|\bssn|social security){_IS}(\d{{15}}|\d{{9}})(?!\d)", _always),
    _rule("[passport]", rf"(?i:护照|通行证|台胞证|passport){_IS}((?i:[a-z]{{0,2}}\d{{6,10}}))(?!\w)", _always),
    _rule("[card]", r"(?<!\d)\d(?:[ -]?\d){13,18}(?!\d)", _is_card),
    _rule("[id]", r"(?<![\d-])\d{3}-\d{2}-\d{4}(?![\d-])", _is_security_number),
    _rule("[ip]", rf"(?<![\w.]){_BYTE}(?:\.{_BYTE}){{3}}(?!\w|\.\d)", _is_address),
    _rule("[ip]", r"(?<![\w:.])[23][0-9a-fA-F]{3}:[0-9a-fA-F:]{2,34}(?!\w)", _is_address),
    _rule("[phone]", r"(?<![\w+])\+[1-9]\d{0,2}[ -]?(?:\(\d{1,4}\)[ -]?)?\d(?:[ -]?\d){5,13}(?!\d)", _is_phone),
    _rule("[phone]", r"(?<!\d)(?:(?:00)?86[ -]?)?1[3-9]\d[ -]?\d{4}[ -]?\d{4}(?!\d)", _is_phone),
    _rule(
        "[phone]",
        rf"(?<!\d)(?:(?:00|\+)?86[ -]?)?(?:\({_AREA}\)|{_AREA})[ -]?[2-8]\d{{2,3}}[ -]?\d{{4}}"
        r"(?:(?:-|转| ?ext\.? ?)\d{1,6})?(?!\d)",
        _is_phone,
    ),
    _rule(
        "[phone]",
        rf"(?<![\d.-])(?:\+?1[-. ])?(?:\({_TOLL_FREE}[2-9]\d{{2}}\) ?|{_TOLL_FREE}[2-9]\d{{2}}[-.])"
        r"[2-9]\d{2}[-. ]\d{4}(?![\d-])",
        _is_phone,
    ),
    _rule("[phone]", r"(?<![\w.])\+?\(?\d(?:[ ().-]{0,2}\d){6,14}(?!\d)", _is_named_phone),
)
"""In the order of precedence."""
