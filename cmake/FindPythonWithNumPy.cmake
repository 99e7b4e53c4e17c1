# Sets BI_PYTHON: the first of $PYTHON, python3 and /usr/bin/python3 that can import NumPy.

foreach(candidate "$ENV{PYTHON}" python3 /usr/bin/python3)
    if(BI_PYTHON OR NOT candidate)
        continue()
    endif()
    execute_process(COMMAND ${candidate} -c "import numpy, sys; print(sys.executable)"
        OUTPUT_VARIABLE executable OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE result)
    if(result EQUAL 0)
        set(BI_PYTHON ${executable} CACHE FILEPATH "Python with NumPy, for the tests")
    endif()
endforeach()
if(NOT BI_PYTHON)
    message(FATAL_ERROR "No Python with NumPy was found. Install one (Debian: python3-numpy), name it in the "
        "environment variable PYTHON, or configure with -DBI_TESTS=OFF.")
endif()
message(STATUS "Python with NumPy: ${BI_PYTHON}")
