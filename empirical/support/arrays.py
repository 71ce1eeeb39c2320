"""Arrays: a NumPy file written piece by piece, and the hash of tensors."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

if TYPE_CHECKING:
    from torch import Tensor


class ArrayWriter:
    """A ``.npy`` file whose length is known last: NumPy leaves room in its header for any number.

    It is written and not mapped: then a full disk raises an error instead of ending the process.

    Args:
        stream: An empty file, open for writing in binary.
        dtype: Of the stored numbers.
        row: Shape of one row; () for a flat array.

    >>> import io
    >>> stream = io.BytesIO()
    >>> writer = ArrayWriter(stream, np.dtype("<u2"), row=(2,))
    >>> for rows in ([[1, 2]], [[3, 4], [5, 6]]):
    ...     _ = writer.append(np.array(rows))
    >>> writer.close()
    >>> np.load(io.BytesIO(stream.getvalue())).tolist()
    [[1, 2], [3, 4], [5, 6]]
    """

    def __init__(self, stream: BinaryIO, dtype: np.dtype, row: tuple[int, ...] = ()) -> None:
        self._stream, self._dtype, self._row, self.rows = stream, dtype, row, 0
        self._write_header()

    def append(self, rows: np.ndarray) -> bytes:
        """Add rows, cast to the dtype; returns the bytes stored."""
        stored = rows.astype(self._dtype).tobytes()
        self._stream.write(stored)
        self.rows += len(rows)
        return stored

    def close(self) -> None:
        """Write the number of rows into the header; the stream stays open."""
        self._write_header()

    def _write_header(self) -> None:
        self._stream.seek(0)
        shape = (self.rows, *self._row)
        header = {"descr": np.lib.format.dtype_to_descr(self._dtype), "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(self._stream, header)


def sha256_of_tensors(named: Iterable[tuple[str, Tensor]]) -> str:
    """Hash of names, dtypes, shapes and bits in the order given; of tensors that are not in memory all but the bits."""
    import torch

    digest = hashlib.sha256()
    for name, value in named:
        head = (name, str(value.dtype), str(tuple(value.shape)))
        digest.update("".join(f"{part}\0" for part in head if part).encode())
        if not value.is_meta:
            digest.update(
                value.detach()
                .cpu()
                .reshape(-1)
                .clone(memory_format=torch.contiguous_format)
                .view(torch.uint8)
                .numpy()
                .data
            )
    return digest.hexdigest()
