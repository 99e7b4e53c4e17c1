// A module as users of pybind11 write them: an array of NumPy's type, and a buffer.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

namespace py = pybind11;

static void increment_buffer(py::buffer buffer)
{
	py::buffer_info info = buffer.request(true);

	for (py::ssize_t i = 0; i < info.shape[0]; i++)
		*reinterpret_cast<float *>(static_cast<char *>(info.ptr) + i * info.strides[0]) += 1;
}

static void increment_array(py::array_t<float> array)
{
	auto elements = array.mutable_unchecked<1>();

	for (py::ssize_t i = 0; i < elements.shape(0); i++)
		elements(i) += 1;
}

PYBIND11_MODULE(pybind11_peer, m)
{
	m.def("increment_buffer", increment_buffer);
	m.def("increment_array", increment_array);
}
