STUBS = []
def replay(request):
    raise NotImplementedError
