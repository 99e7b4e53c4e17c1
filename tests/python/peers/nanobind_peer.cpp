// A module as users of nanobind write them: it takes arrays, gives arrays, and holds on to one.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <thread>

namespace nb = nanobind;

using Matrix = nb::ndarray<const float, nb::ndim<2>, nb::device::cpu>;
using Writable = nb::ndarray<float, nb::ndim<1>, nb::device::cpu>;

static nb::ndarray<> held;

static double sum(Matrix a)
{
	double total = 0;

	for (size_t i = 0; i < a.shape(0); i++)
		for (size_t j = 0; j < a.shape(1); j++)
			total += a(i, j);
	return total;
}

static void increment(Writable a)
{
	for (size_t i = 0; i < a.shape(0); i++)
		a(i) += 1;
}

// (device type, device id, address, shape, strides in elements, DLPack code, bits, lanes)
static nb::tuple describe(nb::ndarray<nb::ro> a)
{
	nb::list shape, strides;

	for (size_t i = 0; i < a.ndim(); i++) {
		shape.append(a.shape(i));
		strides.append(a.stride(i));
	}
	return nb::make_tuple(a.device_type(), a.device_id(), (uintptr_t)a.data(), nb::tuple(shape), nb::tuple(strides),
			      a.dtype().code, a.dtype().bits, a.dtype().lanes);
}

// 0, 1, 2, ... in memory that goes with the last user of the array.
static nb::ndarray<nb::array_api, float> make(size_t rows, size_t columns)
{
	float *data = new float[rows * columns];
	nb::capsule owner(data, [](void *p) noexcept { delete[] static_cast<float *>(p); });

	for (size_t i = 0; i < rows * columns; i++)
		data[i] = static_cast<float>(i);
	return nb::ndarray<nb::array_api, float>(data, { rows, columns }, owner);
}

static void hold(nb::ndarray<> a)
{
	held = a;
}

// The last reference goes on a thread that Python does not know.
static void let_go()
{
	nb::ndarray<> mine = std::move(held);
	nb::gil_scoped_release without;

	std::thread([array = std::move(mine)]() mutable { array = nb::ndarray<>(); }).join();
}

NB_MODULE(nanobind_peer, m)
{
	m.def("sum", &sum);
	m.def("increment", &increment);
	m.def("describe", &describe);
	m.def("make", &make);
	m.def("hold", &hold);
	m.def("let_go", &let_go);
}
