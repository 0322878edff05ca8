"""The words that languages keep for themselves."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


C_FAMILY = _words("""
    NULL abstract as async auto await bool break case catch char class const constexpr continue default delete do
    double else enum extends extern false final float for foreach friend fun get goto if implements import in
    inline instanceof int interface is long namespace new null nullptr object operator out override package
    private protected public ref return set short signed sizeof static string struct super switch template this
    throw throws true try typedef typename union unsigned using val var virtual void volatile when while
""")
JAVASCRIPT = _words("""
    as async await break case catch class const continue debugger default delete do else enum export extends false
    finally for from function if implements import in instanceof interface let new null of private public readonly
    return static super switch this throw true try type typeof undefined var void while yield
""")
PYTHON = _words("""
    False None True and as assert async await break case class continue def del elif else except finally for from
    global if import in is lambda match nonlocal not or pass raise return self try while with yield
""")
SHELL = _words("""
    case cd do done echo elif else esac exit export fi for function if in local return set sudo then until while
""")
RUST = _words("""
    Self as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod
    move mut pub ref return self static struct super trait true type unsafe use where while
""")
GO = _words("""
    break case chan const continue default defer else fallthrough false for func go goto if import interface map
    nil package range return select struct switch true type var
""")
RUBY_AND_LUA = _words("""
    alias and begin break case class def do else elsif end ensure false for function if in local module next nil
    not or redo repeat require rescue retry return self super then true undef unless until when while yield
""")
SQL = _words("""
    add all alter and as asc begin between by case check column commit constraint create cross database default
    delete desc distinct drop else end exists foreign from full group having if in index inner insert into is join
    key left like limit not null on or order outer primary references replace right rollback select set table then
    union unique update using values view when where with
""")
