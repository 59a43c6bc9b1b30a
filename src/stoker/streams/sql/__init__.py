"""SQL in ksqlDB's language: text to statements, and expressions to Spark SQL. Pure: no Spark, no broker, no files.

parse("CREATE STREAM big AS SELECT * FROM orders WHERE total > 1000;")  ->  (CreateAsSelect(...),)
to_spark(parse_expression("UCASE(address->city)"))                     ->  upper(`ADDRESS`['CITY'])
"""

from stoker.streams.sql.errors import SqlError, SqlSyntaxError, UnknownFunction, UnsupportedExpression
from stoker.streams.sql.functions import FUNCTIONS, SPARK_SETTINGS
from stoker.streams.sql.parser import iterate, parse, parse_expression, parse_statement, parse_type
from stoker.streams.sql.spark_text import to_spark
from stoker.streams.sql.types import from_spark, to_spark_type
from stoker.streams.sql.words import PSEUDO_COLUMNS

__all__ = [
    "FUNCTIONS",
    "PSEUDO_COLUMNS",
    "SPARK_SETTINGS",
    "SqlError",
    "SqlSyntaxError",
    "UnknownFunction",
    "UnsupportedExpression",
    "from_spark",
    "iterate",
    "parse",
    "parse_expression",
    "parse_statement",
    "parse_type",
    "to_spark",
    "to_spark_type",
]
