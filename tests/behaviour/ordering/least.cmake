# How many tests of the ordering suite run at least on each device, so that "is not for" cannot spread unseen. A test
# that is new raises the numbers; a device that is new needs one.
list(APPEND ordering_least
    host=24
    pocl-basic=127 pocl-pthread=331 pocl-two-devices=68 pocl-gpu-mask=331 pocl-inline=336
    cuda-11020-pools-0=616 cuda-12040-pools-0=616 cuda-11020-pools-1=616 cuda-12040-pools-1=616
    cuda-seed-2=616 cuda-seed-3=616 cuda-seed-4=616 seeds-cuda=616
    cuda-two-devices=232 cuda-opencl=227 opencl-cuda=175)

get_property(ordering_tests DIRECTORY PROPERTY TESTS)
list(FILTER ordering_tests INCLUDE REGEX "^ordering-")
list(REMOVE_ITEM ordering_tests ordering-cuda-drop ordering-cuda-drop-two-devices) # hundreds of filtered runs
foreach(name ${ordering_tests})
    string(REGEX REPLACE "^ordering-" "" device ${name})
    if(NOT ";${ordering_least};" MATCHES ";${device}=([0-9]+);")
        message(FATAL_ERROR "${name}: tests/behaviour/ordering/least.cmake does not say how many tests run at least")
    endif()
    set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT BI_TEST_LEAST=${CMAKE_MATCH_1})
endforeach()
