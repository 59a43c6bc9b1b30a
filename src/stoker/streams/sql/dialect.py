"""ksqlDB's tokens, as a dialect of sqlglot."""

from typing import Any, ClassVar

from sqlglot import tokens
from sqlglot.dialects.dialect import Dialect, NormalizationStrategy
from sqlglot.tokenizer_core import TokenType


class KsqlDialect(Dialect):
    """Names are in upper case, arrays are counted from 1."""

    INDEX_OFFSET = 1
    IDENTIFIERS_CAN_START_WITH_DIGIT = True
    NORMALIZATION_STRATEGY = NormalizationStrategy.UPPERCASE

    class Tokenizer(tokens.Tokenizer):
        """All words are plain ones but AND, OR and NOT: what they mean depends on where they stand."""

        IDENTIFIERS: ClassVar[Any] = ["`", '"']
        NESTED_COMMENTS = False
        VAR_SINGLE_TOKENS: ClassVar[Any] = {"@"}
        KEYWORDS: ClassVar[Any] = {
            "||": TokenType.DPIPE,
            ">=": TokenType.GTE,
            "<=": TokenType.LTE,
            "<>": TokenType.NEQ,
            "!=": TokenType.NEQ,
            ":=": TokenType.COLON_EQ,
            "->": TokenType.ARROW,
            "=>": TokenType.FARROW,
            "AND": TokenType.AND,
            "OR": TokenType.OR,
            "NOT": TokenType.NOT,
        }
