# Unity builds: g++ compiles the files of a folder some at a time, so that the headers they share are parsed once. Parsing
# is two thirds of a build. CONTRIBUTING.md has what it gains, and what it asks of a file: the names of unnamed namespaces
# differ within a folder. tools/tidy looks at each file alone.
# (Not CMake's UNITY_BUILD, which includes files by their full path: ccache then keeps nothing for a second clone.)
option(ZEROSKID_UNITY "Compile the files of a folder some at a time" ON)
set(most_together 16)
set(most_tests_together 8)  # they have more names of their own
set(own_units_from 4)  # files of a folder; those of smaller folders go together

# compile_alone(FILE...): such a file has names in its unnamed namespace that others of its folder have, too, as each device
# has registers.
function(compile_alone)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# compile_together(LIST TARGET_NAME): what that target compiles instead of the sources in LIST: a unit includes some of
# them. A new file moves none but its own folder's others. A file with compile options of its own stays alone.
function(compile_together LIST TARGET_NAME)
  set(compiled "")
  set(folders "")
  foreach(source ${${LIST}})
    get_source_file_property(alone ${source} SKIP_UNITY_BUILD_INCLUSION)
    get_source_file_property(options ${source} COMPILE_OPTIONS)
    if(alone OR options OR NOT source MATCHES "\\.cc$" OR NOT ZEROSKID_UNITY)
      list(APPEND compiled ${source})
      continue()
    endif()
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${CMAKE_SOURCE_DIR}/src)
    cmake_path(GET source PARENT_PATH folder)
    string(MAKE_C_IDENTIFIER ${folder} folder)
    list(APPEND folders ${folder})
    list(APPEND in_${folder} ${source})
  endforeach()
  list(REMOVE_DUPLICATES folders)
  set(together ${most_together})
  if(TARGET_NAME MATCHES "_tests$")
    set(together ${most_tests_together})
  endif()
  set(small "")
  set(large "")
  foreach(folder ${folders})
    list(LENGTH in_${folder} count)
    if(count LESS own_units_from)
      list(APPEND small ${in_${folder}})
    else()
      list(APPEND large ${folder})
    endif()
  endforeach()
  # The units that take longest first: what is last of all leaves the other processors idle.
  write_units(compiled ${TARGET_NAME} ${together} small_folders ${small})
  foreach(folder ${large})
    write_units(compiled ${TARGET_NAME} ${together} ${folder} ${in_${folder}})
  endforeach()
  set(${LIST} ${compiled} PARENT_SCOPE)
endfunction()

# Appends to LIST the units of the sources that follow, paths from src/, MOST of them in each.
function(write_units LIST TARGET MOST NAME)
  list(SORT ARGN)
  set(number 0)
  while(ARGN)
    list(SUBLIST ARGN 0 ${MOST} part)
    list(REMOVE_ITEM ARGN ${part})
    list(TRANSFORM part REPLACE "(.+)" "#include \"\\1\"\n")
    string(JOIN "" text ${part})
    set(unit ${CMAKE_BINARY_DIR}/units/${TARGET}/${NAME}_${number}.cc)
    file(CONFIGURE OUTPUT ${unit} CONTENT "${text}" @ONLY)
    # g++ takes an included file for a header, whose classes must have no field of a type in an unnamed namespace.
    # clang takes the same alias in two files' unnamed namespaces for one that shadows the other (fuzz preset).
    set_source_files_properties(${unit} PROPERTIES COMPILE_OPTIONS
      "$<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>;$<$<CXX_COMPILER_ID:Clang>:-Wno-shadow>")
    list(APPEND ${LIST} ${unit})
    math(EXPR number "${number} + 1")
  endwhile()
  set(${LIST} ${${LIST}} PARENT_SCOPE)
endfunction()
