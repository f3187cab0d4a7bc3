# yaml-cpp 0.8 calls its target yaml-cpp::yaml-cpp, those before it yaml-cpp; here it is called as before.
if(TARGET yaml-cpp::yaml-cpp AND NOT TARGET yaml-cpp)
  add_library(yaml-cpp INTERFACE IMPORTED)
  target_link_libraries(yaml-cpp INTERFACE yaml-cpp::yaml-cpp)
endif()
