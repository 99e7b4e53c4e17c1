"""RAPIDS cuDF: columns, of one dimension."""

import cudf

from adapters import CAI, Peer

COLUMNS = ("|i1", "<i2", "<i4", "<i8", "<f4", "<f8")


class CuDF(Peer):
    gives = (CAI,)
    dtypes = {CAI: COLUMNS}
    takes = {"Series": cudf.Series}
    takes_dtypes = COLUMNS
    strided = False
    empty = False
    late_work = False
    ndim = 1

    def array(self, values):
        series = cudf.Series(values)
        self.driver.synchronize()
        return series

    def numpy(self, series):
        return series.to_numpy()

    def layout(self, series):
        interface = series.__cuda_array_interface__
        return interface["data"][0], interface["shape"], (series.dtype.itemsize,)


peer = CuDF()
