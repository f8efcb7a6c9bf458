from .agreeing.urls import urlpatterns as agreeing
from .comparing.urls import urlpatterns as comparing
from .deciding.urls import urlpatterns as deciding
from .frozen.urls import urlpatterns as frozen
from .results.urls import urlpatterns as results

urlpatterns = [*results, *comparing, *agreeing, *deciding, *frozen]
