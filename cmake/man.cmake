# Writes the man page of the command from its own help: cmake -DBI=COMMAND -DVERSION=VERSION -DPAGE=FILE -P man.cmake
cmake_policy(VERSION 3.25)

function(read_help out)
    execute_process(COMMAND ${BI} ${ARGN} --help OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
    string(REPLACE "\\" "\\e" text "${text}")
    string(REPLACE "-" "\\-" text "${text}")
    string(REPLACE "'" "\\(aq" text "${text}")
    string(REPLACE "`" "\\(ga" text "${text}")
    string(REGEX REPLACE "(^|\n)[.]" "\\1\\\\&." text "${text}")
    set(${out} "${text}" PARENT_SCOPE)
endfunction()

read_help(help)
if(NOT help MATCHES "^Usage: ([^\n]*)\n([^\n]*)[.]\n\nCommands:\n(.*)$")
    message(FATAL_ERROR "bi --help has another form:\n${help}")
endif()
string(CONCAT page ".TH BI 1 \"\" \"BufferInterface ${VERSION}\" \"User Commands\"\n"
    ".SH NAME\nbi \\- ${CMAKE_MATCH_2}\n.SH SYNOPSIS\n.nf\n${CMAKE_MATCH_1}\n.fi\n"
    ".SH DESCRIPTION\n.in 0\n.nf\nCommands:\n${CMAKE_MATCH_3}.fi\n")
string(REGEX REPLACE "\n\n.*" "" commands "\n${CMAKE_MATCH_3}")
string(REGEX MATCHALL "\n  [a-z]+" commands "${commands}")
foreach(command IN LISTS commands)
    string(STRIP "${command}" command)
    read_help(help ${command})
    string(APPEND page ".SH \"bi ${command}\"\n.in 0\n.nf\n${help}.fi\n")
endforeach()
file(WRITE ${PAGE} "${page}")
