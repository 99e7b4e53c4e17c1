/* The peer nanobind: functions that take an array argument as nb::ndarray, for bench/run. */
#include <cstdint>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

namespace nb = nanobind;

using array = nb::ndarray<const float, nb::device::cpu>;

NB_MODULE(nanobind_peer, module)
{
	module.def("take", [](array) {});
	module.def("address", [](array argument) { return reinterpret_cast<std::uintptr_t>(argument.data()); });
}
