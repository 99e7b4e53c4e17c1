# How many tests of the ordering suite run at least on each device, so that "is not for" cannot spread unseen. A test
# that is new raises the numbers; a device that is new needs one.
list(APPEND ordering_least
    host=24
    pocl-basic=116 pocl-pthread=283 pocl-two-devices=62 pocl-gpu-mask=283 pocl-inline=291
    cuda-11020-pools-0=476 cuda-12040-pools-0=476 cuda-11020-pools-1=476 cuda-12040-pools-1=476
    cuda-seed-2=476 cuda-seed-3=476 cuda-seed-4=476
    cuda-two-devices=157 cuda-opencl=159 opencl-cuda=134)

get_property(ordering_tests DIRECTORY PROPERTY TESTS)
list(FILTER ordering_tests INCLUDE REGEX "^ordering-")
list(REMOVE_ITEM ordering_tests ordering-cuda-drop) # hundreds of filtered runs
foreach(name ${ordering_tests})
    string(REGEX REPLACE "^ordering-" "" device ${name})
    if(NOT ";${ordering_least};" MATCHES ";${device}=([0-9]+);")
        message(FATAL_ERROR "${name}: tests/behaviour/ordering/least.cmake does not say how many tests run at least")
    endif()
    set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT BI_TEST_LEAST=${CMAKE_MATCH_1})
endforeach()
