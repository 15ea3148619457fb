# Files embedded in a library, as one table sorted by path as strcmp does.
#
#   include(packaging/embed.cmake)
#   embed_files(NAME HEADER FROM FOLDER PATTERN... [FROM FOLDER PATTERN...])
#
# writes NAMEs.c in the build directory, to be added to a target's sources: the table `const struct NAME NAMEs[]`, whose
# members are const char *path, *text (with a 0 behind it) and size_t nbytes, and its length `NAME_count`.  HEADER
# declares them.  A path is the file's within its folder.  Run as a script, at build time, this file writes the table:
#   cmake -D NAME=.. -D HEADER=.. -D LIST=<file of "path file"> -D OUTPUT=<file.c> -P embed.cmake

if(NOT CMAKE_SCRIPT_MODE_FILE)
    set(embed_script ${CMAKE_CURRENT_LIST_FILE})

    function(embed_files name header)
        set(entries)
        set(files)
        foreach(word IN LISTS ARGN)
            if(word STREQUAL "FROM")
                set(folder)
            elseif(NOT folder)
                get_filename_component(folder ${word} ABSOLUTE)
            else()
                file(GLOB paths RELATIVE ${folder} CONFIGURE_DEPENDS ${folder}/${word})
                foreach(path IN LISTS paths)
                    list(APPEND entries "${path} ${folder}/${path}")
                    list(APPEND files ${folder}/${path})
                endforeach()
            endif()
        endforeach()
        list(SORT entries) # a blank comes before whatever a path may go on with

        # The list is a file of its own, so that a file that comes or goes rebuilds the table too.
        set(output ${CMAKE_CURRENT_BINARY_DIR}/${name}s)
        file(CONFIGURE OUTPUT ${output}.txt CONTENT "${entries}" @ONLY)
        add_custom_command(OUTPUT ${output}.c
            COMMAND ${CMAKE_COMMAND} -D NAME=${name} -D HEADER=${header}
                -D LIST=${output}.txt -D OUTPUT=${output}.c -P ${embed_script}
            DEPENDS ${files} ${output}.txt ${embed_script}
            COMMENT "Embedding ${name}s"
            VERBATIM)
    endfunction()
    return()
endif()

file(READ ${LIST} entries)

# Written beside its place and renamed: what a killed build leaves is never taken for the whole.
file(WRITE ${OUTPUT}.new "#include \"${HEADER}\"\n\nconst struct ${NAME} ${NAME}s[] = {\n")
foreach(entry IN LISTS entries)
    string(REGEX MATCH "^([^ ]+) (.+)$" entry "${entry}")
    set(path "${CMAKE_MATCH_1}")
    set(file "${CMAKE_MATCH_2}")
    file(READ "${file}" text)
    string(REPLACE "\\" "\\\\" text "${text}")
    string(REPLACE "\"" "\\\"" text "${text}")
    string(REPLACE "\n" "\\n\"\n     \"" text "${text}")
    file(SIZE "${file}" nbytes)
    file(APPEND ${OUTPUT}.new "    {\"${path}\",\n     \"${text}\",\n     ${nbytes}},\n")
endforeach()
file(APPEND ${OUTPUT}.new "};\n\nconst size_t ${NAME}_count = sizeof ${NAME}s / sizeof *${NAME}s;\n")
file(RENAME ${OUTPUT}.new ${OUTPUT})
