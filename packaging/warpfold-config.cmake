# find_package(warpfold) gives warpfold::warpfold, the shared library, warpfold::static, and warpfold::simt, the SIMT
# simulator.
include(CMakeFindDependencyMacro)
find_dependency(Threads)
include("${CMAKE_CURRENT_LIST_DIR}/warpfold-targets.cmake")
