"""discreet: let sensitive data out safely.

    import discreet as dc

    table = dc.read("patients.parquet", card="patients.toml")
    print(dc.describe(table))

The names below are the whole public interface. Each is loaded when it is first used, so that importing
discreet costs next to nothing. Data frames of pandas and polars get ``df.discreet``, whichever is imported first.
"""

from discreet._version import __version__ as __version__
from discreet.core.lazy import after_import, lazy_names
from discreet.models.frames import register

__getattr__, __dir__, __all__ = lazy_names(__name__)
after_import("pandas", register)
after_import("polars", register)
