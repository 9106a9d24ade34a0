/* SPDX-License-Identifier: MIT */
#include "app/rs-viewer-chooser.h"

#define KEY "ringside-chooser"

static void chooser_free(gpointer chooser)
{
	gtk_native_dialog_destroy(chooser);
	g_object_unref(chooser);
}

static void answered(GtkNativeDialog *chooser, int response, GObject *owner)
{
	g_object_set_data(owner, KEY, NULL);
}

void rs_viewer_chooser_show(GtkFileChooserNative *chooser, gpointer owner)
{
	g_object_set_data_full(owner, KEY, chooser, chooser_free);
	g_signal_connect_object(chooser, "response", G_CALLBACK(answered), owner, 0);
	gtk_native_dialog_show(GTK_NATIVE_DIALOG(chooser));
}
