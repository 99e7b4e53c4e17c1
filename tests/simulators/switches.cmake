# The suites with each switch of the simulated CUDA driver and with all of them, in a few seconds each. The list of
# switches is that of cuda_sim/decisions.h.

set(switches ${BI_PYTHON} -B ${CMAKE_CURRENT_LIST_DIR}/switches)
set(decisions ${CMAKE_CURRENT_LIST_DIR}/cuda_sim/decisions.h)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${decisions})
file(READ ${decisions} text)
string(REGEX MATCHALL "X\\([a-z_]+, " names "${text}")
list(TRANSFORM names REPLACE "X\\(([a-z_]+), " "\\1")
list(TRANSFORM names PREPEND "--switch=" OUTPUT_VARIABLE chosen)

# The order of the driver's calls is that of every compiler, and sanitizers see the same programs in other tests.
if(NOT BI_SANITIZE AND NOT BI_TEST_LAUNCHER AND CMAKE_C_COMPILER_ID STREQUAL "GNU")
    foreach(name ${names} all)
        add_one_test(NAME simulators-switches-${name} LABEL cuda_sim
            COMMAND ${switches} ${CMAKE_CURRENT_BINARY_DIR} --switch ${name})
    endforeach()
    add_one_test(NAME simulators-switches-sweeps LABEL cuda_sim
        COMMAND ${switches} ${CMAKE_CURRENT_BINARY_DIR} --switch all --suite "sweep, faults"
                --suite "sweep, waits left out")
endif()
add_one_test(NAME simulators-switches-page LABEL docs COMMAND ${switches} --check ${chosen})
add_custom_target(record-switches COMMAND ${switches} ${CMAKE_CURRENT_BINARY_DIR} --record USES_TERMINAL)
add_dependencies(record-switches contract ordering cai sweep cuda_sim)
